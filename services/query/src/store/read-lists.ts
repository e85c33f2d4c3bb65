import type { Hex } from '@makerbook/contracts-primitives';
import type { OrderStatus } from '@makerbook/domain';
import { byteaOf, type Postgres } from '@makerbook/postgres';

/** With so many changes, reading the whole list takes no longer. */
const CHANGES_MAX = 1000;

/** The state of a maker's list, known before the list is read. */
export interface ListState {
  /** The offset of the fact that changed the list last; 0n before the first. Maker and version identify a list. */
  readonly version: bigint;
  /** The maker's writes that the list does not show yet, each under a key that is used once. */
  readonly unsettled: readonly string[];
  /** Something may be missing: the maker is in quarantine, or Postgres lost rows that are not folded again yet. */
  readonly isUnsure: boolean;
  /** When the maker's switch cancels its orders, in seconds since 1970; 0: never, or it has fired. */
  readonly cancelAt: number;
}

/** Reads the {@link ListState} of a maker. */
export async function readListState(postgres: Postgres, maker: Hex): Promise<ListState> {
  const [row] = await postgres.query<StateRow>(readListStateSql, [byteaOf(maker)], 'read list state');
  if (row === undefined) throw new Error('a select without a from has one row');
  const { version, unsettled, is_unsure: isUnsure, cancel_at } = row;
  return { version, unsettled, isUnsure, cancelAt: Number(cancel_at) };
}

const readListStateSql = `
  select coalesce(m.list_version, 0) as version,
    case when (m.exits ->> 'cancelAt')::bigint > p.block_timestamp then (m.exits ->> 'cancelAt')::bigint else 0 end as cancel_at,
    array(
      select 'placed:' || encode(order_hash, 'hex') || until_ms from in_flight where maker = $1
      union all
      select 'cancelled:' || encode(order_hash, 'hex') || until_ms from cancelling where maker = $1) as unsettled,
    m.quarantined_offset is not null or not exists (select from trusted) as is_unsure
  from (select) as one left join makers m on m.maker = $1 left join projections p on p.partition = m.partition`;

interface StateRow {
  readonly version: bigint;
  readonly unsettled: string[];
  readonly is_unsure: boolean;
  readonly cancel_at: bigint;
}

/** One order of a maker's list. */
export interface ListedOrder {
  readonly orderHash: Hex;
  /** The list is sorted by this offset, oldest first. */
  readonly acceptedOffset: bigint;
  /** From this second on the order is expired. */
  readonly expiresAtSeconds: number;
  /** The part of the record that never changes. */
  readonly recordStart: string;
  readonly state: OrderStatus;
  /** What is left of the making amount; undefined while nothing is filled. */
  readonly remaining: bigint | undefined;
  readonly cappedUntil: number;
}

/** A maker's open orders, and the version that identifies them. */
export interface MakerList {
  readonly version: bigint;
  /** Oldest first. Includes expired orders until the block clock reaches their expiry. */
  readonly records: readonly ListedOrder[];
}

/** Reads a maker's list and its version in one snapshot. */
export async function readMakerList(postgres: Postgres, maker: Hex): Promise<MakerList> {
  const rows = await postgres.query<ListRow>(readMakerListSql, [byteaOf(maker)], 'read maker list');
  return { version: rows[0]?.list_version ?? 0n, records: rows.flatMap((row) => describeOrder(row) ?? []) };
}

/** The changes of a list since another version. */
export interface ListChanges {
  readonly version: bigint;
  /** The orders that are new or have changed, oldest first, as they are now. */
  readonly records: readonly ListedOrder[];
  /** The orders that have left the list. */
  readonly removed: readonly Hex[];
}

/**
 * Reads the changes of a maker's list since the version, in one snapshot. Undefined if there are too many, or if the
 * history that far back is pruned.
 */
export async function readListChanges(postgres: Postgres, maker: Hex, since: bigint): Promise<ListChanges | undefined> {
  const values = [byteaOf(maker), since, CHANGES_MAX + 1];
  const rows = await postgres.query<ChangedRow>(readListChangesSql, values, 'read list changes');
  const [first] = rows;
  if (first === undefined || first.changes > CHANGES_MAX) return undefined;
  const records = rows.flatMap((row) => describeOrder(row) ?? []);
  const removed = rows.flatMap(({ order_hash, touched }) => (order_hash === null && touched !== null ? [touched] : []));
  return { version: first.list_version, records, removed };
}

function describeOrder(row: ListRow): ListedOrder | undefined {
  if (row.order_hash === null) return undefined;
  return {
    orderHash: row.order_hash,
    acceptedOffset: row.accepted_offset,
    expiresAtSeconds: Number(row.expires_at_seconds),
    recordStart: row.record_start,
    // A check in Postgres allows only the pairs of an `OrderStatus`.
    state: { status: row.status, reason: row.reason } as OrderStatus,
    remaining: row.remaining === null ? undefined : BigInt(row.remaining),
    cappedUntil: Number(row.capped_until),
  };
}

// One statement is one snapshot.
const orderSql = `o.order_hash, o.accepted_offset, o.expires_at_seconds, o.record_start,
    o.status, o.reason, o.capped_until, case when o.remaining < o.making_amount then o.remaining end as remaining`;

const readMakerListSql = `
  select m.list_version, ${orderSql}
  from makers m left join orders o on o.maker = m.maker
  where m.maker = $1
  order by o.accepted_offset`;

// Each change of a list has a row in the history.
const readListChangesSql = `
  with changes as (
    select order_hash from order_history where maker = $1 and log_offset > $2 limit $3)
  select m.list_version, (select count(*) from changes) as changes, c.order_hash as touched, ${orderSql}
  from makers m join projections p on p.partition = m.partition and p.history_from <= $2 + 1
    left join (select distinct order_hash from changes) as c on true
    left join orders o on o.order_hash = c.order_hash and o.maker = m.maker
  where m.maker = $1
  order by o.accepted_offset`;

type ListRow = { readonly list_version: bigint } & (
  | { readonly order_hash: null }
  | {
      readonly order_hash: Hex;
      readonly accepted_offset: bigint;
      readonly expires_at_seconds: bigint;
      readonly record_start: string;
      readonly status: string;
      readonly reason: string | null;
      /** Decimal; null while nothing of the order is filled. */
      readonly remaining: string | null;
      readonly capped_until: bigint;
    }
);

/** `touched` is null if nothing has changed. */
type ChangedRow = ListRow & { readonly changes: bigint; readonly touched: Hex | null };
