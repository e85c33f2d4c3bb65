import type { Hex } from '@makerbook/contracts-events';
import { byteaOf, type Postgres } from './connect-postgres.js';

/** Where the projection of a partition stands. */
export interface Projection {
  /** The offset of the next message to be folded. */
  readonly nextOffset: bigint;
  /** How many slices of the block at `nextOffset` were committed; 0 where it was not begun. */
  readonly slices: number;
  /** The newest block that was folded, and the greatest block timestamp so far, in seconds; 0 before the first. */
  readonly blockNumber: number | undefined;
  readonly clockSeconds: number;
  /** Feed messages of the last commit that may not have been published. */
  readonly pending: Buffer | undefined;
}

export interface MakerRow {
  readonly maker: Hex;
  readonly admission: string;
  /** Decimal; null until it was seen once. */
  readonly nonce: string | null;
  readonly nonceBlock: number | null;
  readonly nonceIsWatched: boolean;
  /** Null: nothing is due. */
  readonly dueAtSeconds: number | null;
  /** The block that could not be folded for the maker, since when it is halted. Null or left out: it is not. */
  readonly haltedOffset?: bigint | null;
}

export interface FundingRow {
  readonly maker: Hex;
  readonly token: Hex;
  /** Decimal, as `allowance`. */
  readonly balance: string | null;
  readonly balanceBlock: number | null;
  readonly allowance: string | null;
  readonly allowanceBlock: number | null;
  readonly openOrders: number;
}

/** The part of an open order's row that can change. `remaining` is decimal. */
export interface OrderStateRow {
  readonly orderHash: Hex;
  readonly remaining: string;
  /** The block at which it was seen on the chain last; null: it is to be looked at. */
  readonly observedBlock: number | null;
  readonly status: string;
  readonly reason: string | null;
  readonly inBook: boolean;
}

export interface OrderRow extends OrderStateRow {
  readonly maker: Hex;
  readonly acceptedOffset: bigint;
  readonly acceptedAtMs: number;
  readonly expiresAtSeconds: number;
  readonly makingToken: Hex;
  /** Decimal. */
  readonly makingAmount: string;
  /** `{"order":{…},"orderHash":"0x…","signature":"0x…"`: the listed record without its end. */
  readonly recordStart: string;
}

/** One line of an order's history. */
export interface HistoryRow {
  readonly offset: bigint;
  readonly orderHash: Hex;
  readonly maker: Hex;
  readonly happened: 'OPENED' | 'CHANGED' | 'WITHHELD' | 'REMOVED';
  readonly status: string;
  /** Why it is INACTIVE; of a removed order why it was removed. */
  readonly reason: string | null;
  /** Decimal. */
  readonly remaining: string;
  /** With OPENED only. */
  readonly expiresAtSeconds: number | null;
}

/** A hash with what its rows are found by. */
export interface HashKey {
  readonly maker: Hex;
  readonly expiresAtSeconds: number;
  readonly orderHash: Hex;
}

/** A hash that its maker cancelled and that was not accepted before. */
export interface CancelledHashRow extends HashKey {
  readonly offset: bigint;
}

/** Everything that some makers' rows hold. */
export interface MakerRows {
  readonly makers: readonly MakerRow[];
  readonly funding: readonly FundingRow[];
  /** Oldest acceptance first. */
  readonly orders: readonly OrderRow[];
}

/** What a stretch of the log did, to be committed with the position behind it; or what a slice of a block did. */
export interface ProjectionCommit {
  readonly partition: number;
  /** Where the projection must stand now. */
  readonly fromOffset: bigint;
  /** Left out: none of the block there was committed. */
  readonly fromSlices?: number;
  /** Where it stands then: further on in the log, or one slice further in the block at `nextOffset`. */
  readonly nextOffset: bigint;
  readonly slices?: number;
  readonly blockNumber: number | undefined;
  readonly clockSeconds: number;
  readonly pending: Buffer | undefined;
  readonly makers: readonly MakerRow[];
  readonly funding: readonly FundingRow[];
  readonly fundingDropped: readonly Pick<FundingRow, 'maker' | 'token'>[];
  readonly opened: readonly OrderRow[];
  readonly changed: readonly OrderStateRow[];
  readonly removed: readonly Hex[];
  readonly history: readonly HistoryRow[];
  readonly cancelledHashes?: readonly CancelledHashRow[];
  /** Makers that are halted from this block on, of whose rows nothing else is written. One that was halted stays so. */
  readonly halted?: readonly { readonly maker: Hex; readonly offset: bigint }[];
  /** Orders that leave the book, whatever else is true of them. */
  readonly withheld?: readonly Hex[];
}

/** The projection does not stand where the caller left it: someone else owns the partition. Nothing was written. */
export class PositionTaken extends Error {
  override readonly name = 'PositionTaken';
}

/** Reads where a partition stands; a partition that was never projected starts at 0. */
export async function readProjection(postgres: Postgres, partition: number): Promise<Projection> {
  const [row] = await postgres.query<{
    next_offset: bigint;
    slices: number;
    block_number: bigint | null;
    block_timestamp: bigint;
    pending: Hex | null;
  }>(
    `with fresh as (
       insert into projections (partition) values ($1) on conflict do nothing
       returning next_offset, slices, block_number, block_timestamp, pending)
     select * from fresh
     union all select next_offset, slices, block_number, block_timestamp, pending from projections where partition = $1`,
    [partition],
  );
  if (row === undefined) return readProjection(postgres, partition);
  return {
    nextOffset: row.next_offset,
    slices: row.slices,
    blockNumber: numberOf(row.block_number) ?? undefined,
    clockSeconds: Number(row.block_timestamp),
    pending: row.pending === null ? undefined : Buffer.from(row.pending.slice(2), 'hex'),
  };
}

/** The second at which the first order of the partition is due for something; undefined when none is. */
export async function readNextDue(postgres: Postgres, partition: number): Promise<number | undefined> {
  const [row] = await postgres.query<{ due: bigint | null }>(
    'select min(due_at_seconds) as due from makers where partition = $1 and due_at_seconds is not null',
    [partition],
  );
  return numberOf(row?.due ?? null) ?? undefined;
}

/** The halted makers of the partition, with the offset of the block that could not be folded for each. */
export async function readHaltedMakers(postgres: Postgres, partition: number): Promise<Map<Hex, bigint>> {
  const rows = await postgres.query<{ maker: Hex; halted_offset: bigint }>(
    'select maker, halted_offset from makers where partition = $1 and halted_offset is not null order by maker',
    [partition],
  );
  return new Map(rows.map(({ maker, halted_offset }) => [maker, halted_offset]));
}

/** A maker for whose orders a block may do something, and how many are open. */
export interface DueMaker {
  readonly maker: Hex;
  readonly openOrders: number;
}

/** The first `makersMax` makers of the partition, by address, with orders that are due at `clockSeconds`. */
export async function findDueMakers(
  postgres: Postgres,
  partition: number,
  clockSeconds: number,
  makersMax: number,
): Promise<DueMaker[]> {
  const rows = await postgres.query<{ maker: Hex; open_orders: bigint }>(
    `select due.maker, open_orders
     from (select maker from makers where partition = $1 and due_at_seconds <= $2 order by maker limit $3) due
       cross join lateral (
         select coalesce(sum(funding.open_orders), 0) as open_orders from funding where funding.maker = due.maker) counted
     order by due.maker`,
    [partition, clockSeconds, makersMax],
  );
  return rows.map(({ maker, open_orders }) => ({ maker, openOrders: Number(open_orders) }));
}

/**
 * The first `makersMax` makers of the partition, by address, with orders that were accepted at `knownOffset` or later and
 * seen last before the block; of halted makers none. What it reads is the history from that offset on.
 */
export async function findMissedMakers(
  postgres: Postgres,
  partition: number,
  { knownOffset, blockNumber }: { readonly knownOffset: bigint; readonly blockNumber: number },
  makersMax: number,
): Promise<DueMaker[]> {
  const rows = await postgres.query<{ maker: Hex; open_orders: bigint }>(
    `select missed.maker, open_orders
     from (
         select distinct orders.maker
         from order_history accepted join orders on orders.order_hash = accepted.order_hash
         where accepted.partition = $1 and accepted.log_offset >= $2 and accepted.happened = 'OPENED'
           and orders.observed_block < $3
           and orders.maker not in (select maker from makers where partition = $1 and halted_offset is not null)
         order by maker limit $4) missed
       cross join lateral (
         select coalesce(sum(funding.open_orders), 0) as open_orders from funding
         where funding.maker = missed.maker) counted
     order by missed.maker`,
    [partition, knownOffset, blockNumber, makersMax],
  );
  return rows.map(({ maker, open_orders }) => ({ maker, openOrders: Number(open_orders) }));
}

/** What is stored of the makers. A maker of whom nothing is known has no row. */
export async function readMakers(postgres: Postgres, makers: readonly Hex[]): Promise<MakerRows> {
  const values = [makers.map(byteaOf)];
  const [makerRows, fundingRows, orderRows] = await Promise.all([
    postgres.query<StoredMaker>('select * from makers where maker = any($1::bytea[])', values),
    postgres.query<StoredFunding>('select * from funding where maker = any($1::bytea[])', values),
    postgres.query<StoredOrder>(
      'select * from orders where maker = any($1::bytea[]) order by maker, accepted_offset',
      values,
    ),
  ]);
  return { makers: makerRows.map(makerOf), funding: fundingRows.map(fundingOf), orders: orderRows.map(orderOf) };
}

/** What became earlier of some hashes. */
export interface KnownHashes {
  /** Accepted before, open or not. */
  readonly accepted: ReadonlySet<Hex>;
  /** Cancelled before, and not accepted by then. */
  readonly cancelled: ReadonlySet<Hex>;
}

/** Which of the hashes were accepted before, and which were cancelled before they were accepted. */
export async function findKnownHashes(postgres: Postgres, hashes: readonly HashKey[]): Promise<KnownHashes> {
  if (hashes.length === 0) return { accepted: new Set(), cancelled: new Set() };
  const keys = hashes.map(({ maker, expiresAtSeconds, orderHash }) => ({
    maker: byteaOf(maker),
    expires_at_seconds: expiresAtSeconds,
    order_hash: byteaOf(orderHash),
  }));
  const rows = await postgres.query<{ order_hash: Hex; is_accepted: boolean }>(
    `with asked as (
       select * from json_to_recordset($1) as asked (maker bytea, expires_at_seconds bigint, order_hash bytea))
     select order_hash, true as is_accepted
     from asked join order_history h using (maker, expires_at_seconds, order_hash)
     where h.happened = 'OPENED'
     union all
     select order_hash, false from asked join cancelled_hashes using (maker, expires_at_seconds, order_hash)`,
    [JSON.stringify(keys)],
  );
  const hashesOf = (isAccepted: boolean) =>
    new Set(rows.filter((row) => row.is_accepted === isAccepted).map((row) => row.order_hash));
  return { accepted: hashesOf(true), cancelled: hashesOf(false) };
}

interface StoredMaker {
  maker: Hex;
  admission: string;
  nonce: string | null;
  nonce_block: bigint | null;
  nonce_is_watched: boolean;
  due_at_seconds: bigint | null;
  halted_offset: bigint | null;
}

interface StoredFunding {
  maker: Hex;
  token: Hex;
  balance: string | null;
  balance_block: bigint | null;
  allowance: string | null;
  allowance_block: bigint | null;
  open_orders: number;
}

interface StoredOrder {
  order_hash: Hex;
  maker: Hex;
  accepted_offset: bigint;
  accepted_at_ms: bigint;
  expires_at_seconds: bigint;
  making_token: Hex;
  making_amount: string;
  remaining: string;
  status: string;
  reason: string | null;
  in_book: boolean;
  record_start: string;
  observed_block: bigint | null;
}

function makerOf(row: StoredMaker): MakerRow {
  return {
    maker: row.maker,
    admission: row.admission,
    nonce: row.nonce,
    nonceBlock: numberOf(row.nonce_block),
    nonceIsWatched: row.nonce_is_watched,
    dueAtSeconds: numberOf(row.due_at_seconds),
    haltedOffset: row.halted_offset,
  };
}

function fundingOf(row: StoredFunding): FundingRow {
  return {
    maker: row.maker,
    token: row.token,
    balance: row.balance,
    balanceBlock: numberOf(row.balance_block),
    allowance: row.allowance,
    allowanceBlock: numberOf(row.allowance_block),
    openOrders: row.open_orders,
  };
}

function orderOf(row: StoredOrder): OrderRow {
  return {
    orderHash: row.order_hash,
    maker: row.maker,
    acceptedOffset: row.accepted_offset,
    acceptedAtMs: Number(row.accepted_at_ms),
    expiresAtSeconds: Number(row.expires_at_seconds),
    makingToken: row.making_token,
    makingAmount: row.making_amount,
    remaining: row.remaining,
    observedBlock: numberOf(row.observed_block),
    status: row.status,
    reason: row.reason,
    inBook: row.in_book,
    recordStart: row.record_start,
  };
}

function numberOf(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}
