import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { startTimeOf } from './read-processes.js';

/** A lock file is empty until its owner is written. An empty one counts as taken for this long. */
const EMPTY_MS_MAX = 5_000;

export type Lock = { release(): void };

/**
 * Takes a lock file, which names its owner, or takes it over if its owner has ended. The owner's pid and start time
 * together identify it, because pids are used again.
 * @returns the lock, or the pid of the process that holds it
 */
export function takeLock(file: string): Lock | { readonly heldBy: number } {
  for (;;) {
    try {
      writeFileSync(file, `${process.pid} ${startTimeOf(process.pid) ?? ''}`, { flag: 'wx' });
      return { release: () => rmSync(file, { force: true }) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = readHolder(file);
    if (holder !== undefined) return { heldBy: holder };
    rmSync(file, { force: true });
  }
}

/** Returns the pid of the living process that holds a lock, if one does. */
function readHolder(file: string): number | undefined {
  try {
    const [pid = '', started] = readFileSync(file, 'utf8').split(' ');
    if (pid === '') return Date.now() - statSync(file).mtimeMs < EMPTY_MS_MAX ? 0 : undefined;
    const now = startTimeOf(Number(pid));
    return now !== undefined && now === started ? Number(pid) : undefined;
  } catch {
    return undefined;
  }
}
