import { mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { takeLock } from './lock-file.js';

const LOCK_POLL_MS = 200;

/**
 * Fills a folder unless it exists. The folder appears whole or not at all. If two processes call this at once, one
 * fills the folder and the other waits.
 * @param fill fills the empty folder that it is given
 */
export async function fetchOnce(folder: string, fill: (unfinished: string) => Promise<void>): Promise<void> {
  if (exists(folder)) return;
  const target = dirname(folder);
  mkdirSync(target, { recursive: true });
  const unlock = await lock(join(target, 'fetching.lock'));
  try {
    if (exists(folder)) return;
    const unfinished = join(target, 'unfinished');
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished);
    await fill(unfinished);
    renameSync(unfinished, folder);
  } finally {
    unlock();
  }
}

async function lock(file: string): Promise<() => void> {
  for (;;) {
    const taken = takeLock(file);
    if ('release' in taken) return taken.release;
    await delay(LOCK_POLL_MS);
  }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
