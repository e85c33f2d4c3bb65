import { type TopicNames, topicNames } from '@makerbook/contracts-events';
import { pause } from '@makerbook/contracts-primitives';
import type { Log } from '@makerbook/kafka';
import {
  connectPostgres,
  migrate,
  type Postgres,
  PostgresUnavailable,
  type Query,
  seeOneMoment,
} from '@makerbook/postgres';
import type { ServerConnection } from '@makerbook/settings';
import type { RebuildSettings } from '../env.js';
import { compareRows } from '../store/compare-rows.js';
import { dropSchema, lockTables, readPositions, swapTables, takeLock } from '../store/swap-tables.js';
import { compareBook } from './compare-book.js';
import { foldLog } from './fold-log.js';

export interface RebuildOptions {
  /** The read model, with a role that owns its tables and may create a schema. */
  readonly database: ServerConnection;
  readonly log: Log;
  readonly settings: RebuildSettings;
  readonly report: (line: string) => void;
}

export interface Rebuild extends RebuildOptions {
  readonly live: Postgres;
  /** Holds the replayed rows. */
  readonly postgres: Postgres;
  readonly topics: TopicNames;
}

export const LIVE_SCHEMA = 'public';
/** The schema in which the log is replayed. */
export const SCHEMA = 'makerbook_rebuild';
/** A comparison reads every row, and holds its transaction while the rest of the log is replayed. */
const STATEMENT_TIMEOUT_MS = 3_600_000;
const REPORT_INTERVAL_MS = 1_000;
/** While one partition reads or commits, the other is folded. */
const REPLAYED_AT_ONCE = 2;
const SNAPSHOT_RETRY_MS = 50;
const SWAP_TRIES = 10;

/**
 * Replays the log beside the live rows. Compares the live rows and the router's book with the replay, at one position
 * of each partition. Services run on meanwhile.
 * @returns the first difference of each table and of each partition of the book; empty if all agree
 */
export function verifyReadModel(options: RebuildOptions): Promise<string[]> {
  return withReplay(options, async (rebuild) => {
    await replay(rebuild, await positionsOf(rebuild));
    return compare(rebuild);
  });
}

/**
 * Does the same, and then replaces the live tables by the replayed ones, at the same positions. Running projectors
 * continue from there, and keep what they hold in memory. Nothing changes on the feeds.
 */
export function rebuildReadModel(options: RebuildOptions): Promise<string[]> {
  return withReplay(options, async (rebuild) => {
    await replay(rebuild, await positionsOf(rebuild));
    const differences = await compare(rebuild);
    await swap(rebuild);
    return differences;
  });
}

/**
 * Does the work with an empty schema beside the live rows, and drops the schema afterwards.
 * @throws Error while another process does such work on this database: there is one schema for all of them
 */
export async function withReplay<T>(options: RebuildOptions, work: (rebuild: Rebuild) => Promise<T>): Promise<T> {
  const { database, settings } = options;
  const shared = { ...database, statementTimeoutMs: STATEMENT_TIMEOUT_MS, connectTimeoutMs: 10_000 };
  const live = connectPostgres({ ...shared, schema: LIVE_SCHEMA, poolMax: 3 });
  const inSchema = async () => {
    const postgres = connectPostgres({ ...shared, schema: SCHEMA, synchronousCommit: 'off' });
    try {
      await dropSchema(live.query, SCHEMA);
      await migrate({ ...database, schema: SCHEMA });
      return await work({ ...options, live, postgres, topics: topicNames(settings.TOPIC_PREFIX) });
    } finally {
      await postgres.close();
      await dropSchema(live.query, SCHEMA).catch(() => undefined);
    }
  };
  try {
    return await live.transaction(async (query) => {
      if (await takeLock(query, SCHEMA)) return inSchema();
      throw new Error('another verify, rebuild or salvage works on this database: wait until it has ended');
    });
  } finally {
    await live.close();
  }
}

/** Waits until no live rows are within a block. Returns the position of each partition's rows. */
async function positionsOf({ live }: Rebuild): Promise<readonly bigint[]> {
  for (;;) {
    const positions = await readPositions(live.query);
    if (positions !== undefined) return positions;
    await pause(SNAPSHOT_RETRY_MS);
  }
}

/** Folds up to the targets, keyed by partition, and reports the progress. */
export async function replay(rebuild: Rebuild, targets: readonly bigint[], hasNoFeeds = false): Promise<void> {
  const total = Number(targets.reduce((sum, target) => sum + target, 0n));
  const startedAtMs = performance.now();
  let reportedAtMs = startedAtMs;
  let done = 0;
  const report = () => {
    reportedAtMs = performance.now();
    rebuild.report(describeProgress(done, total, reportedAtMs - startedAtMs));
  };
  const onProgress = (facts: number) => {
    done += facts;
    if (performance.now() - reportedAtMs >= REPORT_INTERVAL_MS) report();
  };
  const atOnce = Math.min(REPLAYED_AT_ONCE, targets.length);
  await foldLog(targets, rebuild, { atOnce, onProgress, hasNoFeeds });
  report();
}

/** Describes the progress. The total counts offsets of control records too. */
function describeProgress(done: number, total: number, tookMs: number): string {
  const perSecond = tookMs === 0 ? 0 : done / (tookMs / 1000);
  const left = perSecond === 0 ? '?' : Math.ceil(Math.max(0, total - done) / perSecond);
  return `${done} of ${total} messages, ${Math.round(perSecond)} a second, ${left} s left`;
}

/** Compares at the positions of one snapshot of the live rows. */
function compare(rebuild: Rebuild): Promise<string[]> {
  const takeSnapshot = (query: Query) => query(seeOneMoment);
  return atLivePositions(rebuild, takeSnapshot, async (query, positions) => {
    const differences = await compareRows(query, rebuild.postgres);
    for (let partition = 0; partition < rebuild.settings.PARTITIONS; partition += 1) {
      differences.push(...(await compareBook(partition, positions[partition] ?? 0n, rebuild)));
    }
    return differences;
  });
}

/**
 * Locks the live tables, and folds the rest of the log to exactly where they are: no row goes back, and no commit comes
 * in between. Live transactions hold locks for some milliseconds, so a lock that times out is tried again.
 */
async function swap(rebuild: Rebuild): Promise<void> {
  const lock = (query: Query) => lockTables(query, LIVE_SCHEMA);
  for (let tries = 1; ; tries += 1) {
    try {
      await foldLog(await positionsOf(rebuild), rebuild);
      return await atLivePositions(rebuild, lock, (query) => swapTables(query, SCHEMA, LIVE_SCHEMA));
    } catch (error) {
      if (!(error instanceof PostgresUnavailable) || tries >= SWAP_TRIES) throw error;
      rebuild.report(`the tables were in use: ${error.message}; trying again`);
    }
  }
}

/** Does the work in a transaction on the live rows, once the log is folded to exactly their positions. */
async function atLivePositions<T>(
  rebuild: Rebuild,
  begin: (query: Query) => Promise<unknown>,
  work: (query: Query, positions: readonly bigint[]) => Promise<T>,
): Promise<T> {
  for (;;) {
    const done = await rebuild.live.transaction(async (query) => {
      await begin(query);
      const positions = await readPositions(query);
      if (positions === undefined) return undefined;
      await foldLog(positions, rebuild);
      return { result: await work(query, positions) };
    });
    if (done !== undefined) return done.result;
    await pause(SNAPSHOT_RETRY_MS);
  }
}
