import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf, type Postgres } from './connect-postgres.js';
import { type HashKey, shapes } from './projection-rows.js';

/** One order of a maker's list. */
export interface ListedOrder {
  readonly orderHash: Hex;
  /** Orders are listed by it, oldest first. */
  readonly acceptedOffset: bigint;
  /** From this second on the order is expired. */
  readonly expiresAtSeconds: number;
  /** The record as a response holds it (Interface 2.3). */
  readonly json: string;
}

/** A maker's open orders, as of the projection's position `nextOffset`. */
export interface MakerList {
  readonly nextOffset: bigint;
  /** Oldest first. Expired ones are among them until the block clock gets there. */
  readonly records: readonly ListedOrder[];
}

/** A maker's list (Interface 4.2) and the position that it reflects, in one snapshot. */
export async function readMakerList(postgres: Postgres, maker: Hex, partition: number): Promise<MakerList> {
  const rows = await postgres.query<ListRow>(readMakerListSql, [byteaOf(maker), partition]);
  const records: ListedOrder[] = [];
  for (const row of rows) {
    if (row.order_hash === null) continue;
    const { order_hash: orderHash, accepted_offset: acceptedOffset, json } = row;
    records.push({ orderHash, acceptedOffset, expiresAtSeconds: Number(row.expires_at_seconds), json });
  }
  return { nextOffset: rows[0]?.next_offset ?? 0n, records };
}

// One statement is one snapshot. The record's end is the one that the fold describes, see `recordEnd`.
const readMakerListSql = `
  select p.next_offset, o.order_hash, o.accepted_offset, o.expires_at_seconds,
    o.record_start || ',"status":"' || o.status
      || case when o.reason is null then '"}' else '","reason":"' || o.reason || '"}' end as json
  from projections p left join orders o on o.maker = $1
  where p.partition = $2
  order by o.accepted_offset`;

type ListRow = { next_offset: bigint } & (
  | { order_hash: null }
  | { order_hash: Hex; accepted_offset: bigint; expires_at_seconds: bigint; json: string }
);

/** An open order's maker, the salt that its cancellation is signed with (Interface 5.2), and its expiry. */
export interface FoundOrder {
  readonly maker: Hex;
  readonly salt: Hex;
  readonly expiresAtSeconds: number;
}

/** Those of some hashes that are open, and the position of each partition, in one snapshot. */
export interface FoundOrders {
  readonly orders: ReadonlyMap<Hex, FoundOrder>;
  readonly positions: ReadonlyMap<number, bigint>;
}

/** See {@link FoundOrders}. */
export async function findOrders(postgres: Postgres, orderHashes: readonly Hex[]): Promise<FoundOrders> {
  const orders = new Map<Hex, FoundOrder>();
  const positions = new Map<number, bigint>();
  for (const row of await postgres.query<FoundRow>(findOrdersSql, [orderHashes.map(byteaOf)])) {
    positions.set(row.partition, row.next_offset);
    if (row.order_hash === null) continue;
    orders.set(row.order_hash, { maker: row.maker, salt: row.salt, expiresAtSeconds: Number(row.expires_at_seconds) });
  }
  return { orders, positions };
}

// One row for each order, and one for each partition that has none of them.
const findOrdersSql = `
  select p.partition, p.next_offset, o.order_hash, o.maker, o.expires_at_seconds,
    (o.record_start || '}')::json -> 'order' ->> 'salt' as salt
  from projections p left join orders o on o.partition = p.partition and o.order_hash = any($1::bytea[])`;

type FoundRow = { readonly partition: number; readonly next_offset: bigint } & (
  | { readonly order_hash: null }
  | { readonly order_hash: Hex; readonly maker: Hex; readonly salt: Hex; readonly expires_at_seconds: bigint }
);

/**
 * Those that were accepted, or cancelled before that, and are not open: they can never be open again. One statement, for
 * between two the rows may get on, or be replaced by older ones.
 */
export async function findEnded(postgres: Postgres, hashes: readonly HashKey[]): Promise<ReadonlySet<Hex>> {
  if (hashes.length === 0) return new Set();
  const rows = await postgres.query<{ order_hash: Hex }>(findEndedSql, shapes.hashKey.toArrays(hashes));
  return new Set(rows.map(({ order_hash }) => order_hash));
}

const findEndedSql = `
  select h.order_hash from ${shapes.hashKey.given(1)} join hashes h using (order_hash, maker)
    left join orders o on o.order_hash = h.order_hash
  where h.state <> 'UNFOLDED' and o.order_hash is null`;

/** A hash that was accepted once and has not expired. */
export interface AcceptedOrder {
  readonly orderHash: Hex;
  readonly expiresAtSeconds: number;
  /** False when it was removed: it can never be accepted again, and does not count as open. */
  readonly isOpen: boolean;
}

/** What ingress must know of a maker to find duplicates and to count open orders. */
export interface Reservations {
  readonly nextOffset: bigint;
  /** What the maker sent since it is in quarantine is in the log, and not among the accepted. */
  readonly isQuarantined: boolean;
  readonly accepted: readonly AcceptedOrder[];
}

/**
 * The maker's accepted orders, and those cancelled before they were accepted, that expire after `nowSeconds`; and the
 * position that they reflect, in one snapshot.
 */
export async function loadReservations(
  postgres: Postgres,
  maker: Hex,
  partition: number,
  nowSeconds: number,
): Promise<Reservations> {
  const rows = await postgres.query<ReservationRow>(
    `select p.next_offset, known.order_hash, known.expires_at_seconds, o.order_hash is not null as is_open,
       exists (select from makers where maker = $1 and quarantined_offset is not null) as is_quarantined
     from projections p
       left join (
           select order_hash, expires_at_seconds from hashes
           where maker = $1 and state <> 'UNFOLDED' and expires_at_seconds > $3) known on true
       left join orders o on o.order_hash = known.order_hash
     where p.partition = $2`,
    [byteaOf(maker), partition, nowSeconds],
  );
  const accepted: AcceptedOrder[] = [];
  for (const { order_hash, expires_at_seconds, is_open } of rows) {
    if (order_hash === null) continue;
    accepted.push({ orderHash: order_hash, expiresAtSeconds: Number(expires_at_seconds), isOpen: is_open });
  }
  const [{ next_offset: nextOffset, is_quarantined: isQuarantined } = { next_offset: 0n, is_quarantined: false }] =
    rows;
  return { nextOffset, isQuarantined, accepted };
}

interface ReservationRow {
  next_offset: bigint;
  order_hash: Hex | null;
  expires_at_seconds: bigint | null;
  is_open: boolean;
  is_quarantined: boolean;
}

/** Whether any maker is in quarantine: the rows lack what it has sent since. */
export async function hasQuarantined(postgres: Postgres): Promise<boolean> {
  const rows = await postgres.query('select from makers where quarantined_offset is not null limit 1');
  return rows.length > 0;
}
