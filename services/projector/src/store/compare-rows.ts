import { HASH_MEMORY_SECONDS } from '@makerbook/domain';
import type { Postgres, Query } from '@makerbook/postgres';
import { pruneHistory } from './prune-history.js';

/** The tables that the fold writes, besides `projections`, and what their rows are ordered by. */
export const readModelTables = {
  makers: 'maker',
  funding: 'maker, token',
  orders: 'order_hash',
  order_history: 'partition, log_offset, order_hash, happened',
  fills: 'order_hash, block_number, log_index',
  hashes: 'order_hash, maker',
} as const;

/**
 * What is compared instead of whole rows, keyed by table. Leaves out hashes that pruning may delete, the number of
 * hashes, and tellers of funds, which rows of earlier releases lack.
 */
const compared: Readonly<Partial<Record<string, string>>> = {
  projections: "select concat_ws(' ', partition, book_entries, book_hash) as row from projections t",
  makers: `select (to_jsonb(t) - 'remembered')::text as row from makers t`,
  funding: `select (to_jsonb(t) - 'teller')::text as row from funding t`,
  hashes: `select t::text as row from hashes t join projections using (partition)
    where expires_at_seconds > block_timestamp - ${HASH_MEMORY_SECONDS} and not exists (
      select from makers where makers.maker = t.maker and t.nonce < makers.nonce)`,
};

const ROWS_PER_FETCH = 5_000;

/**
 * Compares every row of two read models that are at the same positions. Prunes the replayed history like the live one.
 * @param live runs statements in the transaction that saw those positions
 * @returns the first difference of each table; empty if they agree
 */
export async function compareRows(live: Query, replayed: Postgres): Promise<string[]> {
  await pruneReplay(live, replayed);
  const differences: string[] = [];
  for (const [table, key] of Object.entries({ projections: 'partition', ...readModelTables })) {
    const rows = `${compared[table] ?? `select t::text as row from ${table} t`} order by ${key}`;
    const difference = await replayed.transaction((query) => findDifference(rows, live, query));
    if (difference !== undefined) differences.push(`${table}: ${difference}`);
  }
  return differences;
}

async function pruneReplay(live: Query, replayed: Postgres): Promise<void> {
  const positions = await live<{ partition: number; history_from: bigint }>(
    'select partition, history_from from projections',
  );
  for (const { partition, history_from } of positions) {
    for (let isDone = false; !isDone; ) ({ isDone } = await pruneHistory(replayed, partition, history_from));
  }
}

/** @param rows selects what is compared of each row, in a total order */
async function findDifference(rows: string, live: Query, replayed: Query): Promise<string | undefined> {
  for (const query of [live, replayed]) {
    await query(`declare compared no scroll cursor for ${rows}`);
  }
  try {
    for (;;) {
      const [found, expected] = await Promise.all([fetchRows(live), fetchRows(replayed)]);
      const length = Math.max(found.length, expected.length);
      for (let at = 0; at < length; at += 1) {
        if (found[at] !== expected[at]) {
          return `the read model has ${found[at] ?? 'no row'}, a replay ${expected[at] ?? 'no row'}`;
        }
      }
      if (length < ROWS_PER_FETCH) return undefined;
    }
  } finally {
    await live('close compared');
  }
}

async function fetchRows(query: Query): Promise<string[]> {
  const rows = await query<{ row: string }>(`fetch ${ROWS_PER_FETCH} from compared`);
  return rows.map(({ row }) => row);
}

/** The orders of a partition that are in the book by the rows: status, reason and remaining amount, keyed by hash. */
export async function readBook(postgres: Postgres, partition: number): Promise<ReadonlyMap<string, string>> {
  const rows = await postgres.query<{ order_hash: string; state: string }>(
    `select order_hash, concat_ws(' ', status, reason, remaining) as state
     from orders where partition = $1 and in_book order by order_hash`,
    [partition],
  );
  return new Map(rows.map(({ order_hash, state }) => [order_hash, state]));
}
