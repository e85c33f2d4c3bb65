import type { BookCause, MakerLimits } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { type Exits, noExits } from './exits.js';
import type { OpenOrder, RemovalReason, WithholdingReason } from './open-order.js';
import type { HashKey } from './order.js';

export type { MakerLimits };

/** The maker's cancel-all counter and the block at which it was read. */
export interface ObservedNonce {
  readonly value: bigint;
  readonly block: number;
}

/** Balance and allowance of one token, read at one block. */
export interface KnownFunds {
  readonly balance: bigint;
  readonly allowance: bigint;
  readonly block: number;
}

/**
 * A maker's funds in one token. They are kept only while an open order sells the token. The chain is watched for them
 * just as long, so a stale value is never here.
 */
export interface Funding {
  readonly known: KnownFunds | undefined;
  /** How many open orders sell this token; above zero. */
  readonly openOrders: number;
  /** The order whose record has these funds, while the records of others in the book are older. */
  readonly teller?: Hex | undefined;
}

/** An operator's decision about the maker. `UNKNOWN`: no operator ever decided. */
export type Admission = 'UNKNOWN' | 'ADMITTED' | 'SUSPENDED' | 'REMOVED';

/** The state of one maker at one position of the log. */
export interface Maker {
  readonly maker: Address;
  readonly admission: Admission;
  /** The maker's own limits, which override the service's. */
  readonly limits: MakerLimits;
  /** The highest cancel-all counter that the chain was seen to hold; it never goes down. */
  readonly nonce: ObservedNonce | undefined;
  readonly exits: Exits;
  readonly funding: ReadonlyMap<Address, Funding>;
  /** The open orders by hash, in the order of acceptance. */
  readonly orders: ReadonlyMap<Hex, OpenOrder>;
  /** The offset of the fact that last changed the list: an order was opened, changed its state, or was removed. */
  readonly listVersion: bigint;
  /** No order of this maker is due for anything before the block clock reaches this second. A lower bound. */
  readonly dueAtSeconds: number;
}

/** A change that a fact made to a maker. A fact that changes nothing leads to none. */
export type Change =
  /** The order is open and VALIDATING, so not in the book yet. `isWithheld`: it stays out once it was read. */
  | { readonly kind: 'OrderOpened'; readonly order: OpenOrder; readonly isWithheld: boolean }
  /** Status, reason, remaining amount or `cappedUntil` changed, or the order has entered the book. */
  | {
      readonly kind: 'OrderChanged';
      readonly order: OpenOrder;
      readonly funding: Funding;
      readonly causes: readonly BookCause[];
    }
  /**
   * The funds changed, but no order with them. This order's record tells the feed, for readers who add up shared funds.
   */
  | {
      readonly kind: 'FundsChanged';
      readonly order: OpenOrder;
      readonly funding: Funding;
      readonly causes: readonly BookCause[];
    }
  /** The order was read on the chain for the first time, and its status has not changed. */
  | { readonly kind: 'OrderObserved'; readonly order: OpenOrder }
  /** The order left the book but stays in the maker's list. */
  | { readonly kind: 'OrderWithheld'; readonly order: OpenOrder; readonly reason: WithholdingReason }
  /** The order left storage. It has the state it had last. */
  | { readonly kind: 'OrderRemoved'; readonly order: OpenOrder; readonly reason: RemovalReason }
  /** The maker cancelled a hash that was never accepted. If its order comes later, it is removed at once. */
  | ({ readonly kind: 'HashCancelled'; readonly expiresAtSeconds: number } & HashKey)
  /** Admission, limits, nonce or the keys that may cancel changed. */
  | ({ readonly kind: 'MakerChanged' } & Pick<Maker, 'admission' | 'limits' | 'nonce' | 'exits'>);

/** A change and the offset of the fact that led to it. */
export type Transition = Change & { readonly offset: bigint };

/** A maker of whom the log holds no fact yet. */
export function unknownMaker(maker: Address): Maker {
  return {
    maker,
    admission: 'UNKNOWN',
    limits: {},
    nonce: undefined,
    exits: noExits,
    funding: new Map(),
    orders: new Map(),
    listVersion: 0n,
    dueAtSeconds: Number.POSITIVE_INFINITY,
  };
}

/** True if the limits are equal. */
export function hasSameLimits(a: MakerLimits, b: MakerLimits): boolean {
  const { openOrdersMax, ordersPerSecond, ordersBurst } = a;
  return openOrdersMax === b.openOrdersMax && ordersPerSecond === b.ordersPerSecond && ordersBurst === b.ordersBurst;
}

/** A copy of the maker as it is now, which later changes do not touch. */
export function snapshotOf({
  maker,
  admission,
  limits,
  nonce,
  exits,
  funding,
  orders,
  listVersion,
  dueAtSeconds,
}: Maker): Maker {
  const own = { funding: new Map(funding), orders: new Map(orders) };
  return { maker, admission, limits, nonce, exits, ...own, listVersion, dueAtSeconds };
}
