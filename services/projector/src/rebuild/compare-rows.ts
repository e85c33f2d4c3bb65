import type { Postgres, Query } from '@makerbook/postgres';

/** The tables of the read model and what their rows are ordered by. */
export const readModelTables = {
  makers: 'maker',
  funding: 'maker, token',
  orders: 'order_hash',
  order_history: 'partition, log_offset, order_hash, happened',
  cancelled_hashes: 'maker, expires_at_seconds, order_hash',
} as const;

const ROWS_PER_FETCH = 5_000;

/**
 * Compares every row of two read models that are at the same positions.
 * @param live runs statements in the transaction that saw those positions
 * @returns the first difference of each table; none where they agree
 */
export async function compareRows(live: Query, replayed: Postgres): Promise<string[]> {
  const differences: string[] = [];
  for (const [table, key] of Object.entries(readModelTables)) {
    const difference = await replayed.transaction((query) => compareTable(table, key, live, query));
    if (difference !== undefined) differences.push(difference);
  }
  return differences;
}

async function compareTable(table: string, key: string, live: Query, replayed: Query): Promise<string | undefined> {
  for (const query of [live, replayed]) {
    await query(`declare compared no scroll cursor for select t::text as row from ${table} t order by ${key}`);
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
