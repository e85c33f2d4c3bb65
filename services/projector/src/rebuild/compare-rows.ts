import { HASH_MEMORY_SECONDS } from '@makerbook/domain';
import type { Postgres, Query } from '@makerbook/postgres';

/** The tables that the fold makes, beside `projections`, and what their rows are ordered by. */
export const readModelTables = {
  makers: 'maker',
  funding: 'maker, token',
  orders: 'order_hash',
  order_history: 'partition, log_offset, order_hash, happened',
  hashes: 'order_hash, maker',
} as const;

/** Compares only the rows that the live tables must still have, as some may be pruned. */
const unpruned: Readonly<Partial<Record<string, string>>> = {
  order_history: 'log_offset >= history_from',
  hashes: `expires_at_seconds > block_timestamp - ${HASH_MEMORY_SECONDS} and not exists (
    select from makers where makers.maker = t.maker and t.nonce < makers.nonce)`,
};

/** Leaves out a column: the number of remembered hashes depends on what is pruned. */
const compared: Readonly<Partial<Record<string, string>>> = { makers: "to_jsonb(t) - 'remembered'" };

const ROWS_PER_FETCH = 5_000;

/**
 * Compares every row of two read models that are at the same positions.
 * @param live runs statements in the transaction that saw those positions
 * @returns the first difference of each table; none where they agree
 */
export async function compareRows(live: Query, replayed: Postgres): Promise<string[]> {
  const differences: string[] = [];
  const clocks = await readClocks(live);
  for (const [table, key] of Object.entries(readModelTables)) {
    const condition = unpruned[table];
    const rows =
      condition === undefined ? `${table} t` : `${table} t join ${clocks} using (partition) where ${condition}`;
    const difference = await replayed.transaction((query) =>
      compareTable(table, { row: compared[table] ?? 't', rows: `${rows} order by ${key}` }, live, query),
    );
    if (difference !== undefined) differences.push(difference);
  }
  return differences;
}

/** The time and the beginning of the live history of each partition, as SQL, because a cursor takes no parameters. */
async function readClocks(live: Query): Promise<string> {
  const rows = await live<{ line: string }>(
    `select format('(%s, %s::bigint, %s::bigint)', partition, history_from, block_timestamp) as line from projections`,
  );
  const lines = ['(-1, 0::bigint, 0::bigint)', ...rows.map(({ line }) => line)];
  return `(values ${lines.join(', ')}) clocks (partition, history_from, block_timestamp)`;
}

/** @param select what is compared of each row, in a total order */
async function compareTable(
  table: string,
  select: { readonly row: string; readonly rows: string },
  live: Query,
  replayed: Query,
): Promise<string | undefined> {
  for (const query of [live, replayed]) {
    await query(`declare compared no scroll cursor for select (${select.row})::text as row from ${select.rows}`);
  }
  try {
    for (;;) {
      const [found, expected] = await Promise.all([fetchRows(live), fetchRows(replayed)]);
      const length = Math.max(found.length, expected.length);
      for (let at = 0; at < length; at += 1) {
        if (found[at] !== expected[at]) {
          return `${table}: the read model has ${found[at] ?? 'no row'}, a replay ${expected[at] ?? 'no row'}`;
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
