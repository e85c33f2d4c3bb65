import type { Hex } from '@makerbook/contracts-primitives';
import { RowShape } from './row-shape.js';

/** The partition's clock. */
export interface PartitionClock {
  /** The newest processed block; -1 before the first. */
  readonly block: number;
  /** The greatest timestamp of a processed block, in seconds; 0 before the first. */
  readonly seconds: number;
}

/** The position of the rows of a partition. Each commit moves it on. */
export interface RowsPosition {
  /** The offset of the next fact to fold. */
  readonly nextOffset: bigint;
  /** The number of committed parts of the next fact, which is then a block with some makers folded; else 0. */
  readonly blockParts: number;
}

/** How far the rows of a partition have come. */
export interface Projection extends RowsPosition {
  readonly clock: PartitionClock;
  /** When the newest folded record was appended, in milliseconds since 1970; 0 before the first. */
  readonly clockMs: number;
}

/** One step of a partition's rows, from one position to another. */
export interface MovedPosition {
  readonly partition: number;
  readonly fromOffset: bigint;
  readonly fromParts: number;
  readonly nextOffset: bigint;
  readonly blockParts: number;
  readonly blockNumber: number | null;
  readonly blockTimestamp: number;
  readonly clockMs: number;
  /** Deletes ingress's rows for appends that ended before; null: deletes none. */
  readonly forgetsBeforeMs: number | null;
}

export interface MakerRow {
  readonly maker: Hex;
  readonly admission: string;
  /** Its own limits, by their names. */
  readonly limits: Readonly<Record<string, number | undefined>>;
  /** Decimal; null until it was seen once. */
  readonly nonce: string | null;
  readonly nonceBlock: number | null;
  /** Null: nothing is due. */
  readonly dueAtSeconds: number | null;
  /** The offset of the fact that last changed the maker's list. */
  readonly listVersion: bigint;
  readonly openOrders: number;
  /** The first fact that was not folded for it; with the two below null where the maker is not quarantined. */
  readonly quarantinedOffset: bigint | null;
  readonly quarantineReason: string | null;
  /** The partition's clock before that fact. */
  readonly quarantineClock: PartitionClock | null;
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
  readonly logOffset: bigint;
  readonly orderHash: Hex;
  readonly maker: Hex;
  readonly happened: 'OPENED' | 'CHANGED' | 'WITHHELD' | 'REMOVED';
  readonly status: string;
  /** Why it is INACTIVE; of a removed order why it was removed. */
  readonly reason: string | null;
  /** Decimal. */
  readonly remaining: string;
}

/** A fill of an order, which the log has in full. */
export interface FillRow {
  readonly orderHash: Hex;
  readonly blockNumber: number;
  readonly logIndex: number;
  readonly maker: Hex;
  readonly logOffset: bigint;
}

/** A hash, and whose: anybody may cancel a hash of another maker. */
export interface HashKey {
  readonly orderHash: Hex;
  readonly maker: Hex;
}

/** A remembered hash. */
export interface HashRow extends HashKey {
  /** `UNFOLDED`: its order is in the log, and its maker in quarantine. The fold knows nothing of it. */
  readonly state: 'ACCEPTED' | 'CANCELLED' | 'UNFOLDED';
  /** Only for UNFOLDED. */
  readonly salt: string | null;
  /** Decimal; null where the order is not known. */
  readonly nonce: string | null;
  readonly expiresAtSeconds: number;
}

const orderState = {
  orderHash: 'bytea',
  remaining: 'numeric',
  isObserved: 'boolean',
  status: 'text',
  reason: 'text',
  inBook: 'boolean',
} as const;
const hashKey = { orderHash: 'bytea', maker: 'bytea' } as const;

/** The rows of each table; `partition` is a column of all but `funding`, and no field. */
export const shapes = {
  position: new RowShape<MovedPosition>({
    partition: 'integer',
    fromOffset: 'bigint',
    fromParts: 'integer',
    nextOffset: 'bigint',
    blockParts: 'integer',
    blockNumber: 'number',
    blockTimestamp: 'number',
    clockMs: 'number',
    forgetsBeforeMs: 'number',
  }),
  orderHash: new RowShape<Pick<OrderRow, 'orderHash'>>({ orderHash: 'bytea' }),
  orderState: new RowShape<OrderStateRow>(orderState),
  order: new RowShape<OrderRow>({
    ...orderState,
    maker: 'bytea',
    acceptedOffset: 'bigint',
    acceptedAtMs: 'number',
    expiresAtSeconds: 'number',
    makingToken: 'bytea',
    makingAmount: 'numeric',
    recordStart: 'text',
  }),
  fundingKey: new RowShape<Pick<FundingRow, 'maker' | 'token'>>({ maker: 'bytea', token: 'bytea' }),
  funding: new RowShape<FundingRow>({
    maker: 'bytea',
    token: 'bytea',
    balance: 'numeric',
    allowance: 'numeric',
    block: 'number',
    openOrders: 'integer',
  }),
  makerKey: new RowShape<Pick<MakerRow, 'maker'>>({ maker: 'bytea' }),
  maker: new RowShape<MakerRow>({
    maker: 'bytea',
    admission: 'text',
    limits: 'jsonb',
    nonce: 'numeric',
    nonceBlock: 'number',
    dueAtSeconds: 'number',
    listVersion: 'bigint',
    openOrders: 'integer',
    quarantinedOffset: 'bigint',
    quarantineReason: 'text',
    quarantineClock: 'jsonb',
  }),
  history: new RowShape<HistoryRow>({
    logOffset: 'bigint',
    orderHash: 'bytea',
    maker: 'bytea',
    happened: 'text',
    status: 'text',
    reason: 'text',
    remaining: 'numeric',
  }),
  fill: new RowShape<FillRow>({
    orderHash: 'bytea',
    blockNumber: 'number',
    logIndex: 'integer',
    maker: 'bytea',
    logOffset: 'bigint',
  }),
  hashKey: new RowShape<HashKey>(hashKey),
  hash: new RowShape<HashRow>({
    ...hashKey,
    state: 'text',
    salt: 'text',
    nonce: 'numeric',
    expiresAtSeconds: 'number',
  }),
};
