import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf, type Postgres } from './connect-postgres.js';

/** The next fact of a partition to be folded, and how many of the feed messages that it leads to are done. */
export interface LogPlace {
  readonly offset: bigint;
  /** 0, or some of the messages of a block at `offset`. */
  readonly index: number;
}

/** How far the partition's clock has come. */
export interface PartitionClock {
  /** The highest term that was started; 0 before the first. */
  readonly term: number;
  /** The newest processed block; -1 before the first. */
  readonly block: number;
  /** The greatest timestamp of a processed block, in seconds; 0 before the first. */
  readonly seconds: number;
}

/** How far the rows of a partition have come. */
export interface Projection {
  readonly next: LogPlace;
  /** Some makers of the block at `next` are done. */
  readonly isBlockBegun: boolean;
  readonly clock: PartitionClock;
  /** Counts commits and owners; see `takeProjection`. */
  readonly version: bigint;
}

/** Why a maker is not folded any more, and from where on. */
export interface Quarantine {
  /** The first fact that was not folded for it. */
  readonly offset: bigint;
  readonly reason: string;
  /** The partition's clock before that fact. */
  readonly clock: PartitionClock;
}

export interface MakerRow {
  readonly maker: Hex;
  readonly admission: string;
  /** Decimal; null until it was seen once. */
  readonly nonce: string | null;
  readonly nonceBlock: number | null;
  /** Null: nothing is due. */
  readonly dueAtSeconds: number | null;
  /** Left out: the maker is folded. */
  readonly quarantine?: Quarantine | undefined;
}

export interface FundingRow {
  readonly maker: Hex;
  readonly token: Hex;
  /** Decimal, as `allowance`; both and the block are null until they were read. */
  readonly balance: string | null;
  readonly allowance: string | null;
  readonly block: number | null;
  readonly openOrders: number;
}

/** The part of an open order's row that can change. `remaining` is decimal. */
export interface OrderStateRow {
  readonly orderHash: Hex;
  readonly remaining: string;
  readonly isObserved: boolean;
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

/** The rows that a part of the log changed. */
export interface ChangedRows {
  readonly makers: readonly MakerRow[];
  readonly funding: readonly FundingRow[];
  readonly fundingDropped: readonly Pick<FundingRow, 'maker' | 'token'>[];
  readonly opened: readonly OrderRow[];
  readonly changed: readonly OrderStateRow[];
  readonly removed: readonly Hex[];
  readonly history: readonly HistoryRow[];
  readonly cancelledHashes?: readonly CancelledHashRow[];
  /** Makers whose rows cannot be read: they are quarantined, and nothing else of them is written. */
  readonly quarantined?: readonly { readonly maker: Hex; readonly quarantine: Quarantine }[];
  /** Their orders that leave the book. */
  readonly withdrawn?: readonly Hex[];
}

/** What a part of the log did, to be committed with the place behind it. */
export interface ProjectionCommit extends ChangedRows {
  readonly partition: number;
  /** As read or committed last; it is one more then. */
  readonly version: bigint;
  readonly from: LogPlace;
  readonly to: LogPlace;
  /** Some makers of the block at `to` are done. */
  readonly isBlockBegun: boolean;
  /** As of the last fact that is wholly done. */
  readonly clock: PartitionClock;
}

/** The rows are not where the caller left them, or another owner has taken the partition. Nothing was written. */
export class PositionTaken extends Error {
  override readonly name = 'PositionTaken';
}

/** Reads how far the rows of a partition have come; a partition that was never projected starts at 0. */
export async function readProjection(postgres: Postgres, partition: number): Promise<Projection> {
  const [row] = await postgres.query<StoredProjection>(
    `with fresh as (insert into projections (partition) values ($1) on conflict do nothing returning *)
     select * from fresh union all select * from projections where partition = $1`,
    [partition],
  );
  return row === undefined ? readProjection(postgres, partition) : projectionOf(row);
}

/** Reads how far the rows have come, and takes them: no commit of an earlier owner succeeds after that. */
export async function takeProjection(postgres: Postgres, partition: number): Promise<Projection> {
  const [row] = await postgres.query<StoredProjection>(
    `insert into projections (partition, version) values ($1, 1)
     on conflict (partition) do update set version = projections.version + 1 returning *`,
    [partition],
  );
  if (row === undefined) throw new Error('an upsert returned no row');
  return projectionOf(row);
}

/** The first second after `afterSeconds` at which a stored order of the partition is due; undefined when none is. */
export async function readNextDue(
  postgres: Postgres,
  partition: number,
  afterSeconds = -1,
): Promise<number | undefined> {
  const [row] = await postgres.query<{ due: bigint | null }>(
    'select min(due_at_seconds) as due from makers where partition = $1 and due_at_seconds > $2',
    [partition, afterSeconds],
  );
  return numberOf(row?.due ?? null) ?? undefined;
}

/** The quarantined makers of the partition, and their orders that have not left the book yet. */
export async function readQuarantined(
  postgres: Postgres,
  partition: number,
): Promise<{ readonly makers: Map<Hex, Quarantine>; readonly inBook: OrderRow[] }> {
  const of = 'from makers where partition = $1 and quarantined_offset is not null';
  const rows = await postgres.query<StoredMaker>(`select * ${of} order by maker`, [partition]);
  const orders = await postgres.query<StoredOrder>(
    `select * from orders where in_book and maker in (select maker ${of}) order by maker, accepted_offset`,
    [partition],
  );
  return {
    makers: new Map(
      rows.flatMap((row) => {
        const { quarantine } = makerOf(row);
        return quarantine === undefined ? [] : [[row.maker, quarantine] as const];
      }),
    ),
    inBook: orders.map(orderOf),
  };
}

/** A maker with orders that are due, and how many are open. */
export interface DueMaker {
  readonly maker: Hex;
  readonly openOrders: number;
}

/** The next `makersMax` makers of the partition behind `after`, by address, with orders that are due at `clockSeconds`. */
export async function findDueMakers(
  postgres: Postgres,
  partition: number,
  clockSeconds: number,
  after: Hex,
  makersMax: number,
): Promise<DueMaker[]> {
  const rows = await postgres.query<{ maker: Hex; open_orders: bigint }>(
    `select due.maker, open_orders
     from (
         select maker from makers where partition = $1 and due_at_seconds <= $2 and maker > $3
         order by maker limit $4) due
       cross join lateral (
         select coalesce(sum(funding.open_orders), 0) as open_orders from funding where funding.maker = due.maker) counted
     order by due.maker`,
    [partition, clockSeconds, byteaOf(after), makersMax],
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

interface StoredProjection {
  next_offset: bigint;
  next_index: number;
  term: bigint;
  block_number: bigint | null;
  block_timestamp: bigint;
  version: bigint;
  block_begun: boolean;
}

interface StoredMaker {
  maker: Hex;
  admission: string;
  nonce: string | null;
  nonce_block: bigint | null;
  due_at_seconds: bigint | null;
  quarantined_offset: bigint | null;
  quarantine_reason: string | null;
  quarantine_clock: PartitionClock | null;
}

interface StoredFunding {
  maker: Hex;
  token: Hex;
  balance: string | null;
  allowance: string | null;
  block: bigint | null;
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
  is_observed: boolean;
}

function projectionOf(row: StoredProjection): Projection {
  return {
    next: { offset: row.next_offset, index: row.next_index },
    clock: {
      term: Number(row.term),
      block: numberOf(row.block_number) ?? -1,
      seconds: Number(row.block_timestamp),
    },
    isBlockBegun: row.block_begun,
    version: row.version,
  };
}

function makerOf(row: StoredMaker): MakerRow {
  const { quarantined_offset: offset, quarantine_reason: reason, quarantine_clock: clock } = row;
  return {
    maker: row.maker,
    admission: row.admission,
    nonce: row.nonce,
    nonceBlock: numberOf(row.nonce_block),
    dueAtSeconds: numberOf(row.due_at_seconds),
    quarantine: offset === null || reason === null || clock === null ? undefined : { offset, reason, clock },
  };
}

function fundingOf(row: StoredFunding): FundingRow {
  return {
    maker: row.maker,
    token: row.token,
    balance: row.balance,
    allowance: row.allowance,
    block: numberOf(row.block),
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
    isObserved: row.is_observed,
    status: row.status,
    reason: row.reason,
    inBook: row.in_book,
    recordStart: row.record_start,
  };
}

function numberOf(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}
