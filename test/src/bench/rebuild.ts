import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readPeakMb } from '../kit/read-processes.js';
import { deleteRows } from '../kit/save-rows.js';
import { foldedBeyond } from './await-rows.js';
import { insertRows } from './insert-rows.js';
import { type MixedLogWriter, openMixedLog } from './mixed-log.js';
import { type OwnParts, PARTITIONS } from './open-parts.js';
import { compare, type Figure, state } from './report.js';

/** The load while the commands run. */
const FACTS_PER_SECOND = 500;
const APPENDS_PER_SECOND = 5;
const PEAK_POLL_MS = 100;
const MAKERS = 1_000;
const PREFIX = 'bench-rebuild.';
const ENTRY = fileURLToPath(new URL('../../../services/projector/dist/rebuild/main.js', import.meta.url));

interface Command {
  readonly seconds: number;
  readonly peakMb: number;
}

/**
 * Measures `rebuild` and `verify` of a mixed log while a projector runs and more facts come. Compares them with a bulk
 * insert of the same rows into the same Postgres.
 */
export async function measureRebuild(parts: OwnParts, facts: number): Promise<readonly Figure[]> {
  const { log, postgres, databaseUrl } = parts;
  const mixed = { prefix: PREFIX, partitions: PARTITIONS, makers: MAKERS };
  await deleteRows(postgres);
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
  const ends = await project((3 * facts) / 4);
  const floor = await insertRows(postgres, databaseUrl, mixed, ends);
  const rebuilt = await underLoad(writer, () => run(parts, 'rebuild'));
  const verified = await underLoad(writer, () => run(parts, 'verify'));
  const rate = (seconds: number) => total(ends) / seconds;
  return [
    compare(
      `rebuild of ${total(ends).toLocaleString('en')} facts while more come, by inserting the rows alone`,
      'facts per s',
      [{ value: rate(rebuilt.seconds), floor: rate(floor.seconds) }],
      { ratioMin: 0.42 },
    ),
    compare(
      'RSS of rebuild at most, by that for a quarter of the log',
      'MB',
      [{ value: rebuilt.peakMb, floor: ofQuarter.peakMb }],
      { ratioMax: 1.2 },
    ),
    state('rebuild', 's', rebuilt.seconds),
    state('verify', 's', verified.seconds),
  ];
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

/** @throws Error if the command finds a difference, or fails */
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
    if (code !== 0 || !said.includes('match a replay of the log')) throw new Error(`${word}: ${said.slice(-2000)}`);
  } finally {
    clearInterval(polling);
  }
  return { seconds: (performance.now() - startedAtMs) / 1000, peakMb };
}

function total(ends: readonly bigint[]): number {
  return Number(ends.reduce((sum, end) => sum + end, 0n));
}
