import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Tells when a process started, in a form that can only be compared for equality.
 * @returns undefined if there is no such process
 */
export function startTimeOf(pid: number): string | undefined {
  if (process.platform === 'linux') return statOf(pid)?.[19];
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  const time = (stdout ?? '').trim().replaceAll(' ', '_');
  return time === '' ? undefined : time;
}

/** Returns the pids of a process's children. */
export function childrenOf(pid: number): number[] {
  return listProcesses().flatMap(([child, parent]) => (parent === pid ? [child] : []));
}

/** Waits until a process has stopped after SIGSTOP: on a busy machine its threads run for a moment longer. */
export async function untilFrozen(pid: number): Promise<void> {
  while (isRunning(pid)) await delay(10);
}

function isRunning(pid: number): boolean {
  if (process.platform === 'linux') {
    const threads = `/proc/${pid}/task`;
    const states = existsSync(threads)
      ? readdirSync(threads).map((thread) => statOf(`${pid}/task/${thread}`)?.[0])
      : [];
    return states.some((state) => state !== undefined && state !== 'T');
  }
  const { stdout } = spawnSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' });
  return /^[^TZ]/.test((stdout ?? '').trim());
}

function listProcesses(): [pid: number, parent: number][] {
  if (process.platform === 'linux') {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.map((pid) => [Number(pid), Number(statOf(Number(pid))?.[1])]);
  }
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  const lines = (stdout ?? '').trim().split('\n');
  return lines.map((line) => line.trim().split(/\s+/).map(Number) as [number, number]);
}

/** Reads the stat of a process, or of `<pid>/task/<thread>`, from the state on: 1 is the parent, 19 the start time. */
function statOf(pid: number | string): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields;
  } catch {
    return undefined;
  }
}
