import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf, type Postgres } from '@makerbook/postgres';
import { changes, entryOf, filled, type HistoryEntry, type Row } from './read-histories.js';

const OFFSET_MAX = 2n ** 63n - 1n;

/** What the rows know about one order, in one snapshot. */
export interface OrderHistory {
  /** Oldest first: the opening, the end and the newest. Empty if pruned, or if nothing happened to the order. */
  readonly entries: readonly HistoryEntry[];
  /** `PLACED`: the order is in flight, or its maker is in quarantine. `ACCEPTED`: it is open, or was. */
  readonly hash: 'UNKNOWN' | 'PLACED' | 'ACCEPTED';
  /** Something may be missing, as in `ListState`. */
  readonly isUnsure: boolean;
  /** Facts of the order's partition before this offset are folded. 0 if there are no entries. */
  readonly foldedTo: bigint;
}

/**
 * Reads the history of a maker's order: the opening, the end, and fewer than `entriesMax` of the newest entries. A
 * quarantine of the maker ends it, fills included.
 * @param before leaves out facts from this offset on, except an opening
 * @throws PostgresUnavailable
 */
export async function readOrderHistory(
  postgres: Postgres,
  maker: Hex,
  orderHash: Hex,
  entriesMax: number,
  before?: bigint,
): Promise<OrderHistory> {
  const parameters = [byteaOf(maker), byteaOf(orderHash), entriesMax, before ?? OFFSET_MAX];
  const rows = await postgres.query<OrderRow>(readOrderHistorySql, parameters, 'read order history');
  const entries = rows.flatMap((row) => (row.happened === null ? [] : entryOf(row)));
  const { hash, is_unsure: isUnsure, folded_to: foldedTo } = rows[0] ?? noOrder;
  return { entries, hash, isUnsure, foldedTo: foldedTo ?? 0n };
}

type OrderRow = {
  readonly hash: OrderHistory['hash'];
  readonly is_unsure: boolean;
  readonly folded_to: bigint | null;
} & (Row | { readonly happened: null });

const noOrder: OrderRow = { hash: 'UNKNOWN', is_unsure: true, folded_to: null, happened: null };

const readOrderHistorySql = `
  with own as (
    select *, row_number() over (order by log_offset desc, rank desc, block_number desc, log_index desc) as age
    from (
      ${changes} where order_hash = $2 and maker = $1
      union all ${filled} where order_hash = $2 and maker = $1
        and log_offset < coalesce((select quarantined_offset from makers where maker = $1), ${OFFSET_MAX})) as e
    where log_offset < $4 or happened = 'OPENED')
  select case
      when exists (select from in_flight where order_hash = $2 and maker = $1) then 'PLACED'
      else coalesce((
        select case state when 'UNFOLDED' then 'PLACED' when 'ACCEPTED' then 'ACCEPTED' end
        from hashes where order_hash = $2 and maker = $1), 'UNKNOWN') end as hash,
    not exists (select from trusted) as is_unsure,
    (select next_offset from projections where projections.partition = own.partition) as folded_to, own.*
  from (select) as one left join own on age < $3 or happened in ('OPENED', 'REMOVED')
  order by age desc`;
