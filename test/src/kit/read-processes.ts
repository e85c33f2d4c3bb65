import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { sum } from './summarise.js';

/** Ticks per second in `/proc`: 100 on every Linux. */
const TICKS_PER_SECOND = 100;

/**
 * CPU (user and system) that processes and their descendants have taken since their start, in microseconds, in steps of
 * 10,000. Descendants that have ended count once their parent has waited for them.
 * @throws Error if there is no `/proc`
 */
export function readCpu(pids: readonly number[]): number[] {
  const stats = readStats();
  const ticksOf = (pid: number) => sum(withDescendants(pid, stats).map(({ ticks }) => ticks));
  return pids.map((pid) => (ticksOf(pid) * 1_000_000) / TICKS_PER_SECOND);
}

/** CPU that all processes of the machine have taken since it started, in milliseconds. */
export function readBusyMs(): number {
  return sum(cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq));
}

/**
 * Memory (PSS, which divides shared pages) of a process with all its descendants, in megabytes (10^6 bytes).
 * @throws Error if there is no `/proc`, or it does not show the process to this user
 */
export function readPssMb(pid: number): number {
  return sum(withDescendants(pid, readStats()).map((each) => megabytes(`/proc/${each.pid}/smaps_rollup`, 'Pss')));
}

/** The most memory (RSS) that a process has had so far, in megabytes (10^6 bytes). */
export function readPeakMb(pid: number): number {
  return megabytes(`/proc/${pid}/status`, 'VmHWM');
}

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

function readStats(): Stat[] {
  return readdirSync('/proc').flatMap((name) => {
    const stat = /^[0-9]+$/.test(name) ? readIfThere(`/proc/${name}/stat`) : undefined;
    if (stat === undefined) return [];
    // The name of the program is in parentheses and may hold anything, so fields are counted from behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15).map(Number);
    return [{ pid: Number(name), parent: Number(fields[1]), ticks: user + system + endedUser + endedSystem }];
  });
}

function withDescendants(pid: number, stats: readonly Stat[]): Stat[] {
  const found = stats.filter((stat) => stat.pid === pid);
  // `found` grows during the loop: each process adds its children.
  for (const { pid: parent } of found) found.push(...stats.filter((stat) => stat.parent === parent));
  return found;
}

/** Undefined if the process has ended in the meantime. */
function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

function megabytes(file: string, name: string): number {
  const kilobytes = new RegExp(`^${name}:\\s+([0-9]+) kB`, 'm').exec(readIfThere(file) ?? '')?.[1] ?? 0;
  return (Number(kilobytes) * 1024) / 1e6;
}
