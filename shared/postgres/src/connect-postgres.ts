import type { Hex } from '@makerbook/contracts-primitives';
import type { ServerConnection } from '@makerbook/settings';
import { observePool, timeOperations } from '@makerbook/telemetry';
import pg from 'pg';
import { classify, PostgresUnavailable } from './failures.js';

/** The URL is `postgres://user:password@host:port/database`. */
export interface PostgresOptions extends ServerConnection {
  /** Connections of this process. Default 10. */
  readonly poolMax?: number;
  /** Postgres gives up a statement after this time. The caller gets its error soon afterwards anyway. Default 5000. */
  readonly statementTimeoutMs?: number;
  /** How long to wait for a connection, new or from the pool. Default 1500. */
  readonly connectTimeoutMs?: number;
  /** The name that Postgres shows for the connections. */
  readonly applicationName?: string;
  /** The schema that holds the tables. Default `public`. */
  readonly schema?: string;
  /** `off`: commits are answered before they are on disk, and a crash loses the last ones. Default `on`. */
  readonly synchronousCommit?: 'on' | 'off';
  /** True if each statement finds its rows by an index. It is planned only once: planning costs more than a look-up. */
  readonly looksUpOnly?: boolean;
  /**
   * Called when an idle connection was lost, or when `isThere` finds the server down for the first time since it was
   * up. The next call opens a connection.
   */
  readonly onConnectionLost?: (error: Error) => void;
}

/**
 * Runs one statement. `bytea` comes back as 0x-prefixed hex, `bigint` as bigint, `numeric` as a decimal string.
 * @param name names a text that is sent often and never changes: each connection parses it once
 */
export type Query = <Row extends object>(text: string, values?: readonly unknown[], name?: string) => Promise<Row[]>;

/** The first statement of a transaction that writes nothing: all its reads see the moment of the first read. */
export const seeOneMoment = 'set transaction isolation level repeatable read, read only';

/** The read model. Every call throws PostgresUnavailable, InvariantBroken or PostgresRefused, and nothing else. */
export interface Postgres {
  readonly query: Query;
  /** Runs the statements in one transaction, READ COMMITTED. If `work` throws, nothing has happened. */
  transaction<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /** One round trip, bounded by `connectTimeoutMs`. Throws PostgresUnavailable if the server is down. */
  check(): Promise<void>;
  /** True if `check` succeeds, for a service that continues without Postgres. */
  isThere(): Promise<boolean>;
  /** Waits for the statements under way and closes the connections. */
  close(): Promise<void>;
}

/**
 * The pool of a process. It connects on first use, and again by itself after the server was down. Until then each call
 * fails within `connectTimeoutMs`, or at once if the connection is refused.
 */
export function connectPostgres(options: PostgresOptions): Postgres {
  const { statementTimeoutMs = 5_000, connectTimeoutMs = 1_500 } = options;
  const openPool = () =>
    new pg.Pool({
      ...connectionOf(options),
      max: options.poolMax ?? 10,
      connectionTimeoutMillis: connectTimeoutMs,
      statement_timeout: statementTimeoutMs,
      // A server that is no longer there does not time a statement out.
      query_timeout: statementTimeoutMs + 500,
      idle_in_transaction_session_timeout: statementTimeoutMs * 2,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
    }).on('error', (error) => options.onConnectionLost?.(error));
  let pool = openPool();
  /** Opens a new pool after a server fell silent: each old connection would cost a statement its whole time. */
  const use = async <T>(work: (used: pg.Pool) => Promise<T>): Promise<T> => {
    const used = pool;
    try {
      return await work(used);
    } catch (error) {
      if (isSilent(error) && used === pool) {
        pool = openPool();
        used.end().catch(() => undefined);
      }
      throw error;
    }
  };
  const ask = () => use((used) => check(used, connectTimeoutMs));
  const time = timeOperations('postgresql');
  let isAway = false;
  const unobserve = observePool('postgresql', options.applicationName ?? 'postgresql', () => {
    const { idleCount: idle, totalCount, waitingCount: waiting } = pool;
    return { idle, used: totalCount - idle, waiting };
  });
  return {
    query: (text, values, name) => time(() => use((used) => run(used, text, values, name))),
    transaction: (work) => time(() => use((used) => inTransaction(used, work))),
    check: ask,
    isThere: async () => {
      try {
        await ask();
        isAway = false;
      } catch (error) {
        if (!(error instanceof PostgresUnavailable)) throw error;
        if (!isAway) options.onConnectionLost?.(error);
        isAway = true;
      }
      return !isAway;
    },
    close: async () => {
      unobserve();
      await pool.end();
    },
  };
}

/** True if `pg`, and not the server, gave the statement up. */
const isSilent = (error: unknown): boolean =>
  error instanceof PostgresUnavailable && error.cause instanceof Error && error.cause.message === 'Query read timeout';

/** The part of the settings that a single connection needs too. */
export function connectionOf(options: PostgresOptions): pg.ClientConfig {
  const { url, password, tls = false, applicationName, schema, synchronousCommit } = options;
  const settings = [
    ...(options.looksUpOnly === true ? lookUpSettings : planSettings),
    // Statements here are short: compiling one takes longer than running it.
    '-c jit=off',
    ...(schema === undefined ? [] : [`-c search_path=${schema}`]),
    ...(synchronousCommit === undefined ? [] : [`-c synchronous_commit=${synchronousCommit}`]),
  ];
  return {
    ...addressOf(url),
    ...(password === undefined ? {} : { password }),
    ssl: tls,
    types: { getTypeParser },
    ...(applicationName === undefined ? {} : { application_name: applicationName }),
    options: settings.join(' '),
  };
}

/** Plan each time: a plan made while a table was small would read all of it after it has grown. */
const planSettings = ['-c plan_cache_mode=force_custom_plan'];
/**
 * Limits the generic plan to index look-ups. It is made while the tables are small, and must hold after they have
 * grown. A bitmap scan would visit deleted rows until they are vacuumed. An index scan marks them as dead.
 */
const lookUpSettings = [
  '-c plan_cache_mode=force_generic_plan',
  ...['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin'].map((way) => `-c enable_${way}=off`),
];

/** The parts of a URL. A `connectionString` would override the options beside it. */
function addressOf(url: string): pg.ClientConfig {
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  return {
    ...Object.fromEntries(searchParams),
    host: decodeURIComponent(hostname).replace(/^\[(.+)\]$/, '$1'),
    port: port === '' ? 5432 : Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
  };
}

/** A value of a `bytea` column as a parameter. */
export function byteaOf(hex: Hex): string {
  return `\\x${hex.slice(2)}`;
}

async function check(pool: pg.Pool, timeoutMs: number): Promise<void> {
  // `query_timeout` works for one query too. The types have it only for a client.
  const query: pg.QueryConfig & pg.ClientConfig = { text: 'select 1', query_timeout: timeoutMs };
  await pool.query(query).catch((error: unknown) => {
    throw classify(error);
  });
}

async function inTransaction<T>(pool: pg.Pool, work: (query: Query) => Promise<T>): Promise<T> {
  let client: pg.PoolClient;
  try {
    client = await pool.connect();
  } catch (error) {
    throw classify(error);
  }
  // Ignore a loss while idle: the next statement fails.
  const ignore = () => {};
  client.on('error', ignore);
  let isBroken = false;
  try {
    await run(client, 'begin');
    const result = await work((text, values, name) => run(client, text, values, name));
    await run(client, 'commit');
    return result;
  } catch (error) {
    isBroken = error instanceof PostgresUnavailable;
    if (!isBroken) {
      await client.query('rollback').catch(() => {
        isBroken = true;
      });
    }
    throw error;
  } finally {
    client.off('error', ignore);
    client.release(isBroken);
  }
}

async function run<Row extends object>(
  on: pg.Pool | pg.ClientBase,
  text: string,
  values: readonly unknown[] = [],
  name?: string,
): Promise<Row[]> {
  try {
    return (await on.query<Row>({ text, values: [...values], ...(name === undefined ? {} : { name }) })).rows;
  } catch (error) {
    throw classify(error);
  }
}

const { BYTEA, INT8 } = pg.types.builtins;

function getTypeParser(type: number, format?: 'text' | 'binary'): (text: string) => unknown {
  if (type === BYTEA) return (text) => `0x${text.slice(2)}`;
  if (type === INT8) return (text) => BigInt(text);
  return pg.types.getTypeParser(type, format as 'text');
}
