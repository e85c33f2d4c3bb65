import type { BookCause, MakerLimits } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { type Exits, noExits } from './exits.js';
import type { Order } from './order.js';
import type { HashKey } from './remember-hashes.js';

export type { MakerLimits };

/**
 * What a VALIDATING order waits for that was read: funds whose reading was put off, its maker's contract, which has not accepted the
 * signature since it last changed, or code at the token that it takes.
 */
export type WaitsFor = 'FUNDS' | 'SIGNATURE' | 'TAKING_TOKEN';

/** Why an INACTIVE order cannot be filled. */
export type InactiveReason = 'INSUFFICIENT_ALLOWANCE' | 'INSUFFICIENT_BALANCE';

/** The status of an open order: only an INACTIVE one has a reason. A VALIDATING one that was read waits for something else. */
export type OrderStatus =
  | { readonly status: 'VALIDATING'; readonly waitsFor?: WaitsFor }
  | { readonly status: 'ACTIVE' }
  | { readonly status: 'INACTIVE'; readonly reason: InactiveReason };

/** Why an order is INACTIVE, or what a VALIDATING one waits for; null where it needs no reason. */
export function reasonOf(state: OrderStatus): InactiveReason | WaitsFor | null {
  if (state.status === 'INACTIVE') return state.reason;
  return (state.status === 'VALIDATING' ? state.waitsFor : undefined) ?? null;
}

/** Why an order left the service's storage. */
export type RemovalReason = 'CANCELLED' | 'CANCELLED_ONCHAIN' | 'NONCE_CHANGED' | 'FILLED' | 'EXPIRED';

/** Why an open order is out of the router's book: the last seconds before its expiry, its maker's state, or a cap on fills. */
export type WithholdingReason = 'GRACE_PERIOD' | 'QUARANTINED' | 'SUSPENDED' | 'CAPPED';

/** An order that the service stores and lists. Never changed in place. */
export interface OpenOrder {
  readonly orderHash: Hex;
  readonly order: Order;
  readonly signature: Hex;
  /** The contract at the maker's address accepted the signature (EIP-1271), and may refuse it later. */
  readonly byWallet: boolean;
  readonly acceptedAtMs: number;
  /** The offset of its `OrderSubmitted`: orders are listed by it, oldest first. */
  readonly acceptedOffset: bigint;
  /** The unfilled part of `order.making.amount`; always above zero. */
  readonly remaining: bigint;
  /** True once it was read on the chain, with its maker's nonce and funds: until then it is VALIDATING. */
  readonly isObserved: boolean;
  /** It is VALIDATING until a reading says that it need not wait for this any more. */
  readonly waitsFor?: Exclude<WaitsFor, 'FUNDS'> | undefined;
  readonly state: OrderStatus;
  /** False while it is withheld: still listed, and not in the router's feed. */
  readonly inBook: boolean;
  /** Its maker's cap keeps it out of the book until this second; 0: none does. */
  readonly cappedUntil: number;
}

/** The maker's cancel-all counter and the block at which it was read. */
export interface ObservedNonce {
  readonly value: bigint;
  readonly block: number;
}

/** Balance and allowance of one token as read at one block. */
export interface KnownFunds {
  readonly balance: bigint;
  readonly allowance: bigint;
  readonly block: number;
}

/**
 * A maker's funds in one token. Kept only while an open order sells that token: that is as long as the chain is watched for
 * it, so a value that could be stale is never there.
 */
export interface Funding {
  readonly known: KnownFunds | undefined;
  /** How many open orders sell this token; above zero. */
  readonly openOrders: number;
}

/** An operator's decision about the maker. `UNKNOWN`: no operator ever decided. */
export type Admission = 'UNKNOWN' | 'ADMITTED' | 'SUSPENDED' | 'REMOVED';

/** The state of one maker at one position of the log. */
export interface Maker {
  readonly maker: Address;
  readonly admission: Admission;
  /** The maker's own limits, which replace the service's. */
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

/** A change of a maker by a fact. A fact that changes nothing leads to none. */
export type Change =
  /** The order is open now, and VALIDATING: it was not read on the chain yet. Withheld: out of the book, as after an `OrderWithheld`. */
  | {
      readonly kind: 'OrderOpened';
      readonly order: OpenOrder;
      readonly funding: Funding;
      readonly isWithheld: boolean;
    }
  /** Status, reason, remaining amount or `cappedUntil` changed, or it is back in the book. */
  | {
      readonly kind: 'OrderChanged';
      readonly order: OpenOrder;
      readonly funding: Funding;
      readonly causes: readonly BookCause[];
    }
  /** The funds changed, and no order by them: this one tells the feed, so that a reader can add up the orders that share them. */
  | {
      readonly kind: 'FundsChanged';
      readonly order: OpenOrder;
      readonly funding: Funding;
      readonly causes: readonly BookCause[];
    }
  /** The order was read on the chain for the first time, and its status is what it was. */
  | { readonly kind: 'OrderObserved'; readonly order: OpenOrder }
  /** Out of the book; the maker's list keeps it. */
  | { readonly kind: 'OrderWithheld'; readonly order: OpenOrder; readonly reason: WithholdingReason }
  /** Gone from storage, with the state it had last. */
  | { readonly kind: 'OrderRemoved'; readonly order: OpenOrder; readonly reason: RemovalReason }
  /** The maker cancelled a hash that was never accepted. Should its order still come, it is removed at once. */
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

/** The maker as it is now, apart from a draft that goes on changing. */
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
