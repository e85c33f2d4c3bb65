import { randomBytes } from 'node:crypto';
import { readCpu, readPeakMb } from '../kit/read-processes.js';
import type { Services } from '../kit/run-services.js';
import { deleteRows } from '../kit/save-rows.js';
import { median, sum } from '../kit/summarise.js';
import { foldedBeyond } from './await-rows.js';
import { insertRows } from './insert-rows.js';
import { openMixedLog } from './mixed-log.js';
import { type OwnParts, PARTITIONS, withOwnParts } from './open-parts.js';
import { measureRebuild } from './rebuild.js';
import { type BenchOptions, compare, type Figure, type Goal, type Sample, state } from './report.js';

const FACTS = 100_000;
const REBUILT_FACTS = 1_000_000;
const MAKERS = 1_000;
const ROUNDS = 3;
const PROJECTOR = 'projector';

interface Round {
  readonly rate: Sample;
  /** Microseconds per fact, keyed by process. */
  readonly cpu: ReadonlyMap<string, number>;
  readonly rowsPerFact: number;
  readonly peakMb: number;
}

/**
 * Lets one projector catch up with a mixed log, and `rebuild` read a larger one, on real parts. Compares them with a
 * bulk insert of the same rows into the same Postgres.
 */
export async function benchCatchUp({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const facts = isQuick ? FACTS / 10 : FACTS;
  return withOwnParts(async (parts) => {
    const services = parts.services({ LOG_LEVEL: 'warn' });
    // Warm the parts up.
    await measure(parts, services, facts / 4);
    const rounds: Round[] = [];
    for (let round = 0; round < (isQuick ? 1 : ROUNDS); round += 1) {
      rounds.push(await measure(parts, services, facts));
    }
    return [...describe(rounds), ...(await measureRebuild(parts, REBUILT_FACTS / (isQuick ? 50 : 1)))];
  });
}

function describe(rounds: readonly Round[]): Figure[] {
  const one = (name: string, unit: string, figureOf: (round: Round) => number, goal?: Goal) =>
    state(name, unit, median(rounds.map(figureOf)), goal);
  const rates = rounds.map(({ rate }) => rate);
  const names = [...(rounds[0]?.cpu.keys() ?? [])];
  return [
    compare('catching up, by inserting the rows alone', 'facts per s', rates, { ratioMin: 0.39 }),
    one('CPU of all processes', 'µs per fact', ({ cpu }) => sum([...cpu.values()]), { valueMax: 95 }),
    ...names.map((name) => one(`CPU of ${name}`, 'µs per fact', ({ cpu }) => cpu.get(name) ?? 0)),
    one('rows inserted', 'per fact', ({ rowsPerFact }) => rowsPerFact),
    one('RSS of the projector, at most', 'MB', ({ peakMb }) => peakMb),
  ];
}

async function measure(
  { log, postgres, databaseUrl, pids }: OwnParts,
  services: Services,
  facts: number,
): Promise<Round> {
  const prefix = `bench-${randomBytes(4).toString('hex')}.`;
  const mixed = { prefix, partitions: PARTITIONS, makers: MAKERS };
  await deleteRows(postgres);
  const ends = await (await openMixedLog(log, mixed)).append(facts);
  const total = Number(ends.reduce((all, end) => all + end, 0n));
  await services.start(PROJECTOR, 'projector', { TOPIC_PREFIX: prefix });
  const { pid } = services.processOf(PROJECTOR);
  const processes = new Map([[PROJECTOR, pid], ...pids]);
  const cpu = () => readCpu([...processes.values()]);
  // The start and the assignment of partitions do not count.
  const first = await foldedBeyond(0, postgres, services);
  const before = cpu();
  const startedAtMs = performance.now();
  await foldedBeyond(total - 1, postgres, services);
  const seconds = (performance.now() - startedAtMs) / 1000;
  const done = total - first;
  const used = cpu().map((after, index) => (after - (before[index] ?? 0)) / done);
  const peakMb = readPeakMb(pid);
  await services.end(PROJECTOR);
  const floor = await insertRows(postgres, databaseUrl, mixed, ends);
  return {
    rate: { value: done / seconds, floor: total / floor.seconds },
    cpu: new Map([...processes.keys()].map((name, index) => [name, used[index] ?? 0])),
    rowsPerFact: floor.rows / total,
    peakMb,
  };
}
