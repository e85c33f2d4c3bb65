import { mkdirSync, readdirSync, renameSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

const CHECK_INTERVAL_MS = 30_000;

/**
 * Keeps a folder of logs small. Each log of the last run becomes `<name>.log.1` and replaces the one before. A log that
 * grows beyond `bytesMax` is emptied while it is written.
 * @returns a function that ends the checks
 */
export function rotateLogs(folder: string, bytesMax: number, checkIntervalMs = CHECK_INTERVAL_MS): () => void {
  mkdirSync(folder, { recursive: true });
  for (const log of logsIn(folder)) renameSync(log, `${log}.1`);
  const timer = setInterval(() => {
    for (const log of logsIn(folder)) {
      // Writers append, so they continue at the new end.
      if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) > bytesMax) truncateSync(log);
    }
  }, checkIntervalMs).unref();
  return () => clearInterval(timer);
}

function logsIn(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => (name.endsWith('.log') ? [join(folder, name)] : []));
}
