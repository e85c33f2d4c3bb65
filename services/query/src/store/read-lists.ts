import type { Hex } from '@makerbook/contracts-primitives';
import type { OrderStatus } from '@makerbook/domain';
import { byteaOf, type Postgres } from '@makerbook/postgres';

/** So many changes take as long as reading a whole list. */
const CHANGES_MAX = 1000;

/** The state of a maker's list, known before the list is read. */
export interface ListState {
  /** The offset of the fact that changed the list last; 0n before the first. With the maker it names one list. */
  readonly version: bigint;
  /** The maker's writes that the list does not show yet, each by a key that is used once. */
  readonly unsettled: readonly string[];
  /** Something may be missing: the maker is in quarantine, or Postgres has lost rows, and the log is not folded yet. */
  readonly isUnsure: boolean;
  /** When the maker's switch cancels its orders, in seconds since 1970; 0: never, or it has fired. */
  readonly cancelAt: number;
}

/** See {@link ListState}. */
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
  /** Orders are listed by it, oldest first. */
  readonly acceptedOffset: bigint;
  /** From this second on the order is expired. */
  readonly expiresAtSeconds: number;
  /** The part of its record that never changes. */
  readonly recordStart: string;
  readonly state: OrderStatus;
  /** Of the making amount; undefined while nothing of it is filled. */
  readonly remaining: bigint | undefined;
  readonly cappedUntil: number;
}

/** A maker's open orders, and the version that names them. */
export interface MakerList {
  readonly version: bigint;
  /** Oldest first. Expired ones are among them until the block clock gets there. */
  readonly records: readonly ListedOrder[];
}

/** A maker's list and its version, in one snapshot. */
export async function readMakerList(postgres: Postgres, maker: Hex): Promise<MakerList> {
  const rows = await postgres.query<ListRow>(readMakerListSql, [byteaOf(maker)], 'read maker list');
  return { version: rows[0]?.list_version ?? 0n, records: rows.flatMap((row) => describeOrder(row) ?? []) };
}

/** What has become of a list since another version. */
export interface ListChanges {
  readonly version: bigint;
  /** The orders that have come or changed, oldest first, as they are now. */
  readonly records: readonly ListedOrder[];
  /** The orders that have left. */
  readonly removed: readonly Hex[];
}

/**
 * What has become of a maker's list since the version, in one snapshot. Undefined where that is too much, or where the
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
    // Postgres holds a status and its reason to what an `OrderStatus` is.
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

/** `touched` is null where nothing has changed. */
type ChangedRow = ListRow & { readonly changes: bigint; readonly touched: Hex | null };
