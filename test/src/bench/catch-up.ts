import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readCpu, readPeakMb } from '../kit/read-processes.js';
import type { Services } from '../kit/run-services.js';
import { deleteRows } from '../kit/save-rows.js';
import { median } from '../kit/summarise.js';
import { foldedBeyond } from './await-rows.js';
import { insertRows } from './insert-rows.js';
import { openMixedLog } from './mixed-log.js';
import { type OwnParts, PARTITIONS, withOwnParts } from './open-parts.js';
import { readProfile } from './read-profile.js';
import { type BenchOptions, compare, type Figure, type Sample, state } from './report.js';

const FACTS = 100_000;
const MAKERS = 1_000;
const ROUNDS = 3;
const PROJECTOR = 'projector';

/** Of the projector's work, as a profile shows its frames. */
export const PROJECTOR_STEPS = {
  'collecting garbage': /^\(garbage collector\)/,
  'loading its code': /node:internal\/modules/,
  'decoding facts': /^(decodeMakerEvent|readFact|misplacement) /,
  'describing feeds': /\/fold\/describe-feeds|^encodeBookRecord /,
  'describing rows': /\/commit\/|\/shared\/postgres\/|\/pg(-\w+)?\//,
  folding: /\/projector\/dist\/fold\/|\/shared\/domain\/dist\/(?!describe)/,
  'reading and writing records': /\/shared\/kafka\/|platformatic\/kafka/,
} as const;

interface Round {
  readonly rate: Sample;
  /** Of each process, in microseconds per fact. */
  readonly cpu: ReadonlyMap<string, number>;
  readonly rowsPerFact: number;
  readonly peakMb: number;
}

/** One projector catches up with a mixed log, everything real; against a bulk insert of the same rows into the same Postgres. */
export async function benchCatchUp({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const facts = isQuick ? FACTS / 10 : FACTS;
  return withOwnParts(async (parts) => {
    const services = parts.services({ LOG_LEVEL: 'warn' });
    // Warms the parts up.
    await measure(parts, services, facts / 4);
    const rounds: Round[] = [];
    while (rounds.length < (isQuick ? 1 : ROUNDS)) rounds.push(await measure(parts, services, facts));
    const shares = await profile(parts, services, facts);
    const ofProjector = median(rounds.map(({ cpu }) => cpu.get(PROJECTOR) ?? 0));
    const one = (name: string, unit: string, figureOf: (round: Round) => number, goal?: { valueMax: number }) =>
      state(name, unit, median(rounds.map(figureOf)), goal);
    const names = [...(rounds[0]?.cpu.keys() ?? [])];
    const rates = rounds.map(({ rate }) => rate);
    return [
      compare('catching up, by inserting the rows alone', 'facts per s', rates, { ratioMin: 0.6 }),
      one('CPU of all processes', 'µs per fact', ({ cpu }) => sum([...cpu.values()]), { valueMax: 90 }),
      ...names.map((name) => one(`CPU of ${name}`, 'µs per fact', ({ cpu }) => cpu.get(name) ?? 0)),
      ...[...shares].map(([step, share]) => state(`of it, ${step}`, 'µs per fact', share * ofProjector)),
      one('rows inserted', 'per fact', ({ rowsPerFact }) => rowsPerFact),
      one('RSS of the projector, at most', 'MB', ({ peakMb }) => peakMb),
    ];
  });
}

/** Where the projector's time goes, from a round of its own: a profile slows it down. */
async function profile(parts: OwnParts, services: Services, facts: number): Promise<ReadonlyMap<string, number>> {
  const folder = join(parts.folder, 'profile');
  await measure(parts, services, facts, { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}` });
  return readProfile(folder, PROJECTOR_STEPS);
}

async function measure(
  { log, postgres, databaseUrl, pids }: OwnParts,
  services: Services,
  facts: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<Round> {
  const prefix = `bench-${randomBytes(4).toString('hex')}.`;
  const mixed = { prefix, partitions: PARTITIONS, makers: MAKERS };
  await deleteRows(postgres);
  const ends = await (await openMixedLog(log, mixed)).append(facts);
  const total = Number(ends.reduce((sum, end) => sum + end, 0n));
  await services.start(PROJECTOR, 'projector', { TOPIC_PREFIX: prefix, ...settings });
  const { pid } = services.processOf(PROJECTOR);
  const processes = new Map([[PROJECTOR, pid], ...pids]);
  const cpu = () => readCpu([...processes.values()]);
  // Starting and getting the partitions do not count.
  const first = await foldedBeyond(0, postgres, services);
  const before = cpu();
  const startedAtMs = performance.now();
  await foldedBeyond(total - 1, postgres, services);
  const seconds = (performance.now() - startedAtMs) / 1000;
  const done = total - first;
  const used = cpu().map((after, index) => (after - (before[index] ?? 0)) / done);
  const peakMb = readPeakMb(pid);
  await services.end(PROJECTOR, 'SIGTERM');
  const floor = await insertRows(postgres, databaseUrl, mixed, ends);
  return {
    rate: { value: done / seconds, floor: total / floor.seconds },
    cpu: new Map([...processes.keys()].map((name, index) => [name, used[index] ?? 0])),
    rowsPerFact: floor.rows / total,
    peakMb,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
