import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { childrenOf } from '@makerbook/parts';

/** Whether the disk of the process can be made full. This needs `prlimit` (util-linux), and the right to use it. */
export function canFillDisk(pid: number): boolean {
  return limitFiles(pid, []);
}

/** From now on the process and its children cannot write files. This may end them. @returns lifts the limit */
export function fillDisk(pid: number): () => void {
  const limit = (bytes: string) => {
    for (const each of [pid, ...childrenOf(pid)]) limitFiles(each, [`--fsize=${bytes}:`]);
  };
  limit('0');
  return () => limit('unlimited');
}

/** Limits what a process may write, or only reads the limits. Runs as its user. @returns true if it could */
function limitFiles(pid: number, limits: readonly string[]): boolean {
  const owner = statSync(`/proc/${pid}`, { throwIfNoEntry: false });
  if (owner === undefined) return false;
  const { uid, gid } = owner;
  return spawnSync('prlimit', ['--pid', String(pid), ...limits], { uid, gid }).status === 0;
}
