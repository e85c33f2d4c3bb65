import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { startTimeOf } from './read-processes.js';

/** A lock between its creation and the write of its owner is empty: it counts as taken for this long. */
const EMPTY_MS_MAX = 5_000;

export type Lock = { release(): void };

/**
 * Takes a lock file, which names its owner. One whose owner has ended is taken over; an owner is known by its pid and
 * start time together, as pids are used again.
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

/** The pid of the living process that holds a lock, if one does. */
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
