import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadGenerator } from '../kit/generate-load.js';
import { readCpu } from '../kit/read-processes.js';
import { type Environment, runServices } from '../kit/run-services.js';
import type { PreparedRequest } from '../kit/send-requests.js';
import type { Bench } from './open-bench.js';
import type { Sample } from './report.js';

/** A process that answers requests and is measured in turn with others. */
export interface Contender {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
}

/** A service to run beside the stack's own, on its log, rows and cache. */
export interface Variant {
  readonly name: string;
  readonly settings?: Environment;
}

/** Runs the variants of a service beside the stack during the work, and then ends them. */
export async function withVariants<T>(
  bench: Bench,
  service: 'ingress' | 'query',
  variants: readonly Variant[],
  work: (contenders: readonly Contender[]) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-variants-'));
  const services = runServices(folder, bench.serviceEnvironment);
  try {
    for (const { name, settings } of variants) await services.start(name, service, settings);
    await services.ready();
    return await work(variants.map(({ name }) => ({ name, ...services.processOf(name) })));
  } finally {
    await services.stop();
    rmSync(folder, { recursive: true });
  }
}

/** Rotates the items by rounds, so that each goes first, second and last equally often. */
export function inTurn<T>(all: readonly T[], round: number): readonly T[] {
  return all.map((_, index) => all[(index + round) % all.length] as T);
}

/** Microseconds of CPU, of all threads, that the process takes for each of the requests. */
export async function measureRequests(
  load: LoadGenerator,
  { port, pid }: Contender,
  requests: readonly PreparedRequest[],
  atOnce: number,
): Promise<number> {
  const [before = 0] = readCpu([pid]);
  await load.send(port, requests, { atOnce });
  const [after = 0] = readCpu([pid]);
  return (after - before) / requests.length;
}

/** The values measured for each of several things, round by round. */
export interface Rounds {
  readonly add: (name: string, taken: number) => void;
  readonly of: (name: string) => readonly number[];
  /** The values of two things side by side, of the same rounds. */
  readonly compare: (name: string, floor: string) => readonly Sample[];
}

export function createRounds(): Rounds {
  const rounds = new Map<string, number[]>();
  const of = (name: string) => rounds.get(name) ?? [];
  return {
    add: (name, taken) => void rounds.set(name, [...of(name), taken]),
    of,
    compare: (name, floor) => of(name).map((value, round) => ({ value, floor: of(floor)[round] ?? Number.NaN })),
  };
}
