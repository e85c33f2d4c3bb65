import type { Hex } from '@makerbook/contracts-events';
import type { Address, Order } from './order.js';

/** Why an INACTIVE order cannot be filled (Interface 2.3). */
export type InactiveReason = 'INSUFFICIENT_ALLOWANCE' | 'INSUFFICIENT_BALANCE';

/** What an open order is: only an INACTIVE one has a reason (Interface 3). */
export type OrderStatus =
  | { readonly status: 'VALIDATING' }
  | { readonly status: 'ACTIVE' }
  | { readonly status: 'INACTIVE'; readonly reason: InactiveReason };

/** Why an order left the service's storage. */
export type RemovalReason = 'CANCELLED' | 'CANCELLED_ONCHAIN' | 'NONCE_CHANGED' | 'FILLED' | 'EXPIRED';

/** An order that the service stores and lists. Never changed in place. */
export interface OpenOrder {
  readonly orderHash: Hex;
  readonly order: Order;
  readonly signature: Hex;
  readonly acceptedAtMs: number;
  /** The offset of its `OrderSubmitted`: orders are listed by it, oldest first. */
  readonly acceptedOffset: bigint;
  /** What is left to fill of `order.making.amount`; always above zero. */
  readonly remaining: bigint;
  /**
   * The block at which the chain was asked last what is filled and whether it is cancelled, where nothing was missed since
   * then; else undefined.
   */
  readonly observedBlock: number | undefined;
  readonly state: OrderStatus;
  /** False in the last seconds before expiry: still listed, no longer in the router's feed. */
  readonly inBook: boolean;
}

/** A value of the chain and the number of the block at which it was read. */
export interface Observed {
  readonly value: bigint;
  readonly blockNumber: number;
}

/**
 * What is known of a maker's funds in one token. Kept only while an open order sells that token: that is as long as the
 * chain is watched for it, so a value that could be stale is never there.
 */
export interface Funding {
  readonly balance: Observed | undefined;
  readonly allowance: Observed | undefined;
  /** How many open orders sell this token; above zero. */
  readonly openOrders: number;
}

/** Whether an operator lets the maker use the limit order endpoints. `UNKNOWN`: no operator ever said a word. */
export type Admission = 'UNKNOWN' | 'ADMITTED' | 'SUSPENDED' | 'REMOVED';

/** Everything that is true of one maker at one position of the log. */
export interface Maker {
  readonly maker: Address;
  readonly admission: Admission;
  /** The highest cancel-all counter that the chain was seen to hold; it never goes down. */
  readonly nonce: Observed | undefined;
  /** Whether `nonce` is kept up to date: only while the maker has open orders. */
  readonly nonceIsWatched: boolean;
  readonly funding: ReadonlyMap<Address, Funding>;
  readonly orders: ReadonlyMap<Hex, OpenOrder>;
  /** No order of this maker is due for anything before the block clock reaches this second. A lower bound. */
  readonly dueAtSeconds: number;
}

/** A maker of whom the log says nothing yet. */
export function unknownMaker(maker: Address): Maker {
  return {
    maker,
    admission: 'UNKNOWN',
    nonce: undefined,
    nonceIsWatched: false,
    funding: new Map(),
    orders: new Map(),
    dueAtSeconds: Number.POSITIVE_INFINITY,
  };
}
