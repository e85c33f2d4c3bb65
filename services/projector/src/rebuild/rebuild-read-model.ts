import { setTimeout as pause } from 'node:timers/promises';
import { type TopicNames, topicNames } from '@makerbook/contracts-events';
import type { Log } from '@makerbook/kafka';
import { connectPostgres, migrate, type Postgres, PostgresUnavailable, type Query } from '@makerbook/postgres';
import type { ServerConnection } from '@makerbook/settings';
import type { RebuildSettings } from '../env.js';
import { compareBook } from './compare-book.js';
import { compareRows } from './compare-rows.js';
import { foldLog } from './fold-log.js';
import { swapTables } from './swap-tables.js';

export interface RebuildOptions {
  /** The read model, with a role that owns its tables and may make a schema. */
  readonly database: ServerConnection;
  readonly log: Log;
  readonly settings: RebuildSettings;
  readonly report: (line: string) => void;
}

interface Rebuild extends RebuildOptions {
  readonly live: Postgres;
  /** Where the replayed rows are. */
  readonly postgres: Postgres;
  readonly topics: TopicNames;
}

const LIVE_SCHEMA = 'public';
/** The schema in which the log is replayed. */
const SCHEMA = 'makerbook_rebuild';
/** A comparison reads every row, and holds its transaction while the rest of the log is replayed. */
const STATEMENT_TIMEOUT_MS = 3_600_000;
const REPORT_INTERVAL_MS = 1_000;
const SNAPSHOT_RETRY_MS = 50;
const SWAP_TRIES = 10;

/**
 * Replays the log beside the live read model, and compares rows and the router's book with what comes of it, at one position
 * of each partition. Services run on meanwhile.
 * @returns the first difference of each table and of each partition of the book; none where all agree
 */
export function verifyReadModel(options: RebuildOptions): Promise<string[]> {
  return withReplay(options, compare);
}

/**
 * The same, and puts the replayed tables in the place of the live ones. The projectors go on from where the new rows are;
 * the feeds see nothing of it.
 */
export function rebuildReadModel(options: RebuildOptions): Promise<string[]> {
  return withReplay(options, async (rebuild) => {
    const differences = await compare(rebuild);
    await foldLog(await readPositions(rebuild.live.query), rebuild);
    await swap(rebuild);
    return differences;
  });
}

async function withReplay(options: RebuildOptions, work: (rebuild: Rebuild) => Promise<string[]>): Promise<string[]> {
  const { database, settings } = options;
  const shared = { ...database, statementTimeoutMs: STATEMENT_TIMEOUT_MS, connectTimeoutMs: 10_000 };
  const live = connectPostgres({ ...shared, schema: LIVE_SCHEMA, poolMax: 2 });
  const postgres = connectPostgres({ ...shared, schema: SCHEMA, synchronousCommit: 'off' });
  try {
    await dropSchema(live);
    await migrate({ ...database, schema: SCHEMA });
    const rebuild = { ...options, live, postgres, topics: topicNames(settings.TOPIC_PREFIX) };
    await replay(rebuild);
    return await work(rebuild);
  } finally {
    await postgres.close();
    await dropSchema(live).catch(() => undefined);
    await live.close();
  }
}

async function dropSchema(postgres: Postgres): Promise<void> {
  await postgres.query(`drop schema if exists ${SCHEMA} cascade`);
}

/** Folds up to where the live rows are now. */
async function replay(rebuild: Rebuild): Promise<void> {
  const targets = await readPositions(rebuild.live.query);
  const total = Number(targets.reduce((sum, target) => sum + target, 0n));
  const startedAtMs = performance.now();
  let done = 0;
  const timer = setInterval(
    () => rebuild.report(describeProgress(done, total, performance.now() - startedAtMs)),
    REPORT_INTERVAL_MS,
  );
  try {
    await foldLog(targets, rebuild, (facts) => {
      done += facts;
    });
  } finally {
    clearInterval(timer);
  }
  rebuild.report(describeProgress(done, total, performance.now() - startedAtMs));
}

/** Offsets of control records count among the messages in all. */
function describeProgress(done: number, total: number, tookMs: number): string {
  const part = total === 0 ? 1 : Math.min(1, done / total);
  const filled = Math.round(part * 20);
  const perSecond = tookMs === 0 ? 0 : done / (tookMs / 1000);
  const left = perSecond === 0 ? '?' : Math.ceil(Math.max(0, total - done) / perSecond);
  const bar = `${'#'.repeat(filled)}${'.'.repeat(20 - filled)}`;
  return `[${bar}] ${done} of ${total} messages, ${Math.round(perSecond)} a second, ${left} s left`;
}

/** Compares at the positions that one snapshot of the live rows has. */
async function compare(rebuild: Rebuild): Promise<string[]> {
  const { live, postgres, settings } = rebuild;
  for (;;) {
    const differences = await live.transaction(async (query) => {
      await query('set transaction isolation level repeatable read, read only');
      // In the middle of a block the rows are what no fold of whole facts leads to.
      const [begun] = await query('select partition from projections where block_begun limit 1');
      if (begun !== undefined) return undefined;
      const positions = await readPositions(query);
      await foldLog(positions, rebuild);
      const inRows = await compareRows(query, postgres);
      const inBook: string[] = [];
      for (let partition = 0; partition < settings.PARTITIONS; partition += 1) {
        const found = await compareBook(partition, positions[partition] ?? 0n, rebuild);
        if (found !== undefined) inBook.push(found);
      }
      return [...inRows, ...inBook];
    });
    if (differences !== undefined) return differences;
    await pause(SNAPSHOT_RETRY_MS);
  }
}

/** Live transactions hold locks for some milliseconds: it is tried again where they were not had in time. */
async function swap({ live, report }: Rebuild): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await swapTables(live, SCHEMA, LIVE_SCHEMA);
      return;
    } catch (error) {
      if (!(error instanceof PostgresUnavailable) || tries === SWAP_TRIES) throw error;
      report(`the tables were in use: ${error.message}; trying again`);
    }
  }
}

async function readPositions(query: Query): Promise<bigint[]> {
  const rows = await query<{ partition: number; next_offset: bigint }>(
    'select partition, next_offset from projections',
  );
  const positions: bigint[] = [];
  for (const { partition, next_offset } of rows) positions[partition] = next_offset;
  return Array.from(positions, (position) => position ?? 0n);
}
