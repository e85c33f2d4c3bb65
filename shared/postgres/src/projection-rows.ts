import type { Hex } from '@makerbook/contracts-primitives';
import { type RowOf, RowShape } from './row-shape.js';

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
  /** The number of committed parts of the next fact, if it is a block with only some makers folded; else 0. */
  readonly blockParts: number;
}

/** How far the rows of a partition have come. */
export interface Projection extends RowsPosition {
  readonly clock: PartitionClock;
  /** When the newest folded record was appended, in milliseconds since 1970; 0 before the first. */
  readonly clockMs: number;
  /** The partition's book as the feed's clock tells it: the number of its orders, and the hash over them. */
  readonly book: { readonly entries: number; readonly hash: Hex };
}

const projection = {
  nextOffset: 'bigint',
  blockParts: 'integer',
  blockNumber: 'number?',
  blockTimestamp: 'number',
  clockMs: 'number',
  bookEntries: 'integer',
  bookHash: 'bytea',
} as const;

/** One step of a partition's rows, from one position to another. */
const position = {
  ...projection,
  partition: 'integer',
  fromOffset: 'bigint',
  fromParts: 'integer',
  /** Delete ingress's rows for appends that ended before this time; null: delete none. */
  forgetsBeforeMs: 'number?',
} as const;
export type MovedPosition = RowOf<typeof position>;

const makerKey = { maker: 'bytea' } as const;
const maker = {
  ...makerKey,
  admission: 'text',
  /** The maker's own limits, keyed by name. */
  limits: 'jsonb',
  /** How the maker takes back or withholds all its orders, by the names of the fold. */
  exits: 'jsonb',
  /** Null until a nonce was seen. */
  nonce: 'numeric?',
  nonceBlock: 'number?',
  /** Null: nothing is due. */
  dueAtSeconds: 'number?',
  /** The offset of the fact that last changed the maker's list. */
  listVersion: 'bigint',
  openOrders: 'integer',
  /** The first fact that was not folded for the maker. Null, like the two below, unless the maker is quarantined. */
  quarantinedOffset: 'bigint?',
  quarantineReason: 'text?',
  /** The partition's clock before that fact. */
  quarantineClock: 'jsonb?',
} as const;
export type MakerRow = RowOf<typeof maker> & {
  readonly limits: Readonly<Record<string, number | undefined>>;
  readonly exits: object;
  readonly quarantineClock: PartitionClock | null;
};

/** A maker with orders that fall due some time, and the number of its open orders. */
const due = { maker: 'bytea', dueAtSeconds: 'number', openOrders: 'integer' } as const;
export type DueMaker = RowOf<typeof due>;

const fundingKey = { maker: 'bytea', token: 'bytea' } as const;
const funding = {
  ...fundingKey,
  /** Null, like `allowance` and `block`, until it was read. */
  balance: 'numeric?',
  allowance: 'numeric?',
  block: 'number?',
  openOrders: 'integer',
  /** The order whose record in the feed has these amounts, if the records of other orders have older ones. */
  teller: 'bytea?',
} as const;
export type FundingRow = RowOf<typeof funding>;

/** The part of an open order's row that can change. */
const orderState = {
  orderHash: 'bytea',
  remaining: 'numeric',
  isObserved: 'boolean',
  status: 'text',
  /** Why it is INACTIVE, or what a VALIDATING one waits for. */
  reason: 'text?',
  inBook: 'boolean',
  /** Until when a cap of the maker withholds the order, in seconds; 0: no cap does. */
  cappedUntil: 'number',
} as const;
export type OrderStateRow = RowOf<typeof orderState>;

const order = {
  ...orderState,
  maker: 'bytea',
  acceptedOffset: 'bigint',
  acceptedAtMs: 'number',
  expiresAtSeconds: 'number',
  makingToken: 'bytea',
  makingAmount: 'numeric',
  /** `{"order":{…},"orderHash":"0x…","signature":"0x…"`: the listed record without its end. */
  recordStart: 'text',
  /** Null if the maker's key signed. */
  walletSignature: 'bytea?',
} as const;
export type OrderRow = RowOf<typeof order>;

/** One line of an order's history. */
const history = {
  logOffset: 'bigint',
  orderHash: 'bytea',
  maker: 'bytea',
  happened: 'text',
  status: 'text',
  /** As in an order's row; for a removed order, why it was removed. */
  reason: 'text?',
  remaining: 'numeric',
  /** As in an order's row, after the change. */
  cappedUntil: 'number',
  /** Minimal hex, if the order is opened; else null. */
  salt: 'text?',
} as const;
export type HistoryRow = RowOf<typeof history> & {
  readonly happened: 'OPENED' | 'CHANGED' | 'WITHHELD' | 'REMOVED';
};

/** A fill of an order. The log has it in full. */
const fill = {
  orderHash: 'bytea',
  blockNumber: 'number',
  logIndex: 'integer',
  maker: 'bytea',
  logOffset: 'bigint',
} as const;
export type FillRow = RowOf<typeof fill>;

/** A hash and its maker, because anybody may cancel a hash of another maker. */
const hashKey = { orderHash: 'bytea', maker: 'bytea' } as const;
export type HashKey = RowOf<typeof hashKey>;

/** A remembered hash. */
const hash = {
  ...hashKey,
  state: 'text',
  /** Only for UNFOLDED. */
  salt: 'text?',
  /** Null if the order is not known. */
  nonce: 'numeric?',
  expiresAtSeconds: 'number',
  /** The hash is remembered until then, whatever the nonce; 0 if the order is not known. */
  keptUntilSeconds: 'number',
} as const;
export type HashRow = RowOf<typeof hash> & {
  /** `UNFOLDED`: the order is in the log, but its maker is in quarantine. The fold does not know the hash. */
  readonly state: 'ACCEPTED' | 'CANCELLED' | 'UNFOLDED';
};

/** The row shape of each table. `partition` is a column of all tables except `funding`, but not a field. */
export const shapes = {
  projection: new RowShape<RowOf<typeof projection>>(projection),
  due: new RowShape<DueMaker>(due),
  position: new RowShape<MovedPosition>(position),
  orderHash: new RowShape<Pick<OrderRow, 'orderHash'>>({ orderHash: 'bytea' }),
  orderState: new RowShape<OrderStateRow>(orderState),
  order: new RowShape<OrderRow>(order),
  fundingKey: new RowShape<Pick<FundingRow, 'maker' | 'token'>>(fundingKey),
  funding: new RowShape<FundingRow>(funding),
  makerKey: new RowShape<Pick<MakerRow, 'maker'>>(makerKey),
  maker: new RowShape<MakerRow>(maker),
  history: new RowShape<HistoryRow>(history),
  fill: new RowShape<FillRow>(fill),
  hashKey: new RowShape<HashKey>(hashKey),
  hash: new RowShape<HashRow>(hash),
};
