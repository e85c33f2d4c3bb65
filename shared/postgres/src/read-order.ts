import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf, type Postgres } from './connect-postgres.js';

/** What one fact of the log did to an order. */
export interface HistoryEntry {
  readonly partition: number;
  readonly logOffset: bigint;
  readonly happened: 'OPENED' | 'CHANGED' | 'WITHHELD' | 'REMOVED';
  /** The order's status afterwards; of a removed order the one it had last. */
  readonly status: 'VALIDATING' | 'ACTIVE' | 'INACTIVE';
  /** Why it is INACTIVE, or why it was removed. */
  readonly reason: string | null;
  /** What was left of its making amount. */
  readonly remaining: bigint;
}

/** What the rows know of one order, in one snapshot. */
export interface OrderHistory {
  /** Oldest first: the fact that opened it and the newest ones; empty where its history is pruned, or it was never open. */
  readonly entries: readonly HistoryEntry[];
  /** `PLACED`: it is on its way, or its maker is in quarantine. `ACCEPTED`: it is open, or was. */
  readonly hash: 'UNKNOWN' | 'PLACED' | 'ACCEPTED';
}

/** The history of a maker's order: at most `entriesMax` entries. @throws PostgresUnavailable */
export async function readOrderHistory(
  postgres: Postgres,
  maker: Hex,
  orderHash: Hex,
  entriesMax: number,
): Promise<OrderHistory> {
  const parameters = [byteaOf(maker), byteaOf(orderHash), entriesMax];
  const rows = await postgres.query<Row>(readOrderHistorySql, parameters, 'read order history');
  const entries: HistoryEntry[] = [];
  for (const row of rows) {
    if (row.happened === null) continue;
    const { partition, log_offset: logOffset, happened, status, reason, remaining } = row;
    entries.push({ partition, logOffset, happened, status, reason, remaining: BigInt(remaining) });
  }
  return { entries, hash: rows[0]?.hash ?? 'UNKNOWN' };
}

const readOrderHistorySql = `
  with own as (
    select partition, log_offset, happened, status, reason, remaining,
      row_number() over (order by log_offset desc, place desc) as age
    from order_history
      cross join lateral (select array_position(array['OPENED', 'CHANGED', 'WITHHELD', 'REMOVED'], happened)) as p (place)
    where order_hash = $2 and maker = $1)
  select case
      when exists (select from in_flight where order_hash = $2 and maker = $1) then 'PLACED'
      else coalesce((
        select case state when 'UNFOLDED' then 'PLACED' when 'ACCEPTED' then 'ACCEPTED' end
        from hashes where order_hash = $2 and maker = $1), 'UNKNOWN') end as hash,
    own.*
  from (select) as one left join own on age < $3 or happened = 'OPENED'
  order by age desc`;

type Row = { readonly hash: OrderHistory['hash'] } & (
  | { readonly happened: null }
  | {
      readonly partition: number;
      readonly log_offset: bigint;
      readonly happened: HistoryEntry['happened'];
      readonly status: HistoryEntry['status'];
      readonly reason: string | null;
      readonly remaining: string;
    }
);
