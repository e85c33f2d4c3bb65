import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { topicNames } from '@makerbook/contracts-events';
import { openPlacementStore } from '@makerbook/postgres';
import { runOperator } from '../kit/admit-maker.js';
import { eventually } from '../kit/eventually.js';
import { readPeakMb } from '../kit/read-processes.js';
import { saveRows } from '../kit/save-rows.js';
import { foldedBeyond } from './await-rows.js';
import { insertRows } from './insert-rows.js';
import { type MixedLog, type MixedLogWriter, openMixedLog, strayOrders } from './mixed-log.js';
import { type OwnParts, PARTITIONS, withOwnParts } from './open-parts.js';
import { type BenchOptions, compare, type Figure, state } from './report.js';

const FACTS = 1_000_000;
/** Messages that are parked, and replayed. */
const STRAYS = 1_000;
/** What is appended while the commands run. */
const FACTS_PER_SECOND = 500;
const APPENDS_PER_SECOND = 5;
const PEAK_POLL_MS = 100;
const SETTLED_MS_MAX = 600_000;
const MAKERS = 1_000;
const PREFIX = 'bench-rebuild.';
const ENTRY = fileURLToPath(new URL('../../../services/projector/dist/rebuild/main.js', import.meta.url));

interface Command {
  readonly seconds: number;
  readonly peakMb: number;
}

/**
 * `rebuild` and `verify` of a mixed log, the replay of parked messages, and the way back from an older backup, while a projector
 * runs and more facts come; against a bulk insert of the same rows into the same Postgres.
 */
export async function benchRebuild({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const facts = isQuick ? FACTS / 50 : FACTS;
  return withOwnParts(async (parts) => {
    const { log, postgres, databaseUrl } = parts;
    const mixed = { prefix: PREFIX, partitions: PARTITIONS, makers: MAKERS };
    const writer = await openMixedLog(log, mixed);
    const services = parts.services({ LOG_LEVEL: 'warn', TOPIC_PREFIX: PREFIX });
    await services.start('projector', 'projector');
    const project = async (more: number) => {
      const ends = await writer.append(more);
      await foldedBeyond(total(ends) - 1, postgres, services);
      return ends;
    };
    await project(facts / 4);
    const ofQuarter = await underLoad(writer, () => run(parts, 'rebuild'));
    await project(facts / 4);
    const backup = await saveRows(postgres);
    const ends = await project(facts / 2);
    const floor = await insertRows(postgres, databaseUrl, mixed, ends);
    const rebuilt = await underLoad(writer, () => run(parts, 'rebuild'));
    const parked = await underLoad(writer, () => replayParked(parts, writer, mixed, isQuick ? STRAYS / 50 : STRAYS));
    const verified = await underLoad(writer, () => run(parts, 'verify'));
    const restoredSeconds = await underLoad(writer, async () => {
      const startedAtMs = performance.now();
      await backup.restore();
      await foldedBeyond(total(await log.endOffsets(`${PREFIX}limit-orders.maker-events.v1`)) - 1, postgres, services);
      return (performance.now() - startedAtMs) / 1000;
    });
    const rate = (seconds: number) => total(ends) / seconds;
    return [
      compare(
        `rebuild of ${total(ends)} facts under load, by inserting the rows alone`,
        'facts per s',
        [{ value: rate(rebuilt.seconds), floor: rate(floor.seconds) }],
        { ratioMin: 0.6 },
      ),
      compare('RSS of rebuild at most, by that for a quarter of the log', 'MB', [
        { value: rebuilt.peakMb, floor: ofQuarter.peakMb },
      ]),
      state('rebuild', 's', rebuilt.seconds),
      state('verify', 's', verified.seconds),
      state(`${parked.count} messages in the wrong partition, until they are parked`, 's', parked.parkedSeconds),
      state('replay of them, until their orders are in the rows', 's', parked.replayedSeconds),
      state('a backup of half of the log restored, until nothing is behind', 's', restoredSeconds),
    ];
  });
}

/** Does the work while facts come. */
async function underLoad<T>(writer: MixedLogWriter, work: () => Promise<T>): Promise<T> {
  let isDone = false;
  const load = async () => {
    while (!isDone) {
      await writer.append(FACTS_PER_SECOND / APPENDS_PER_SECOND);
      await pause(1000 / APPENDS_PER_SECOND);
    }
  };
  const loading = load();
  loading.catch(() => undefined);
  try {
    return await work();
  } finally {
    isDone = true;
    await loading;
  }
}

/** Facts in a partition that is not their maker's are parked, and `parked replay` appends them where they belong, once. */
async function replayParked(
  { log, postgres, environment }: OwnParts,
  writer: MixedLogWriter,
  mixed: MixedLog,
  count: number,
) {
  const env = { ...environment, TOPIC_PREFIX: mixed.prefix };
  const strays = strayOrders(mixed, count);
  const startedAtMs = performance.now();
  await writer.appendStrays(strays);
  const { parked: topic } = topicNames(mixed.prefix);
  await eventually(async () => total(await log.endOffsets(topic)) >= count, true, SETTLED_MS_MAX);
  const parkedAtMs = performance.now();
  // Each line begins with the message's place.
  const ids = (await runOperator(['parked', 'list'], env)).split('\n').map((line) => line.split(' ')[0] ?? '');
  if (ids.length !== count) throw new Error(`${ids.length} of ${count} messages are parked`);
  const replayFromMs = performance.now();
  await runOperator(['parked', 'replay', ...ids], env);
  const hashes = strays.map(({ fact }) => fact.orderHash);
  const store = openPlacementStore(postgres);
  const countFound = async () => {
    const found = await store.findOrders(hashes, Date.now(), false);
    return found.filter(({ state }) => state === 'FOUND').length;
  };
  await eventually(countFound, count, SETTLED_MS_MAX);
  const replayedAtMs = performance.now();
  const again = await runOperator(['parked', 'replay', ...ids], env).then(String, String);
  if (again.match(/was replayed already/g)?.length !== count) throw new Error(`replayed twice: ${again.slice(0, 500)}`);
  return {
    count,
    parkedSeconds: (parkedAtMs - startedAtMs) / 1000,
    replayedSeconds: (replayedAtMs - replayFromMs) / 1000,
  };
}

/** @throws Error where the command finds a difference, or fails */
async function run({ environment, closing }: OwnParts, word: 'rebuild' | 'verify'): Promise<Command> {
  const startedAtMs = performance.now();
  const env = { PATH: process.env['PATH'], ...environment, TOPIC_PREFIX: PREFIX };
  const child: ChildProcess = spawn(process.execPath, [ENTRY, word], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  closing.push(() => child.kill('SIGKILL'));
  const lines: string[] = [];
  child.stdout?.on('data', (line) => lines.push(String(line)));
  let peakMb = 0;
  const polling = setInterval(() => {
    peakMb = Math.max(peakMb, readPeakMb(child.pid ?? 0));
  }, PEAK_POLL_MS);
  try {
    const [code] = await once(child, 'exit');
    const said = lines.join('');
    if (code !== 0 || !said.includes('what a replay of the log leads to'))
      throw new Error(`${word}: ${said.slice(-2000)}`);
  } finally {
    clearInterval(polling);
  }
  return { seconds: (performance.now() - startedAtMs) / 1000, peakMb };
}

function total(ends: readonly bigint[]): number {
  return Number(ends.reduce((sum, end) => sum + end, 0n));
}
