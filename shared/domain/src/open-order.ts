import type { Hex } from '@makerbook/contracts-primitives';
import type { LogClock } from './log-clock.js';
import { boundedSeconds, type Order } from './order.js';

/** How long a hash is remembered after its order has expired. An order that comes later is not folded. */
export const HASH_MEMORY_SECONDS = 24 * 60 * 60;
/**
 * A broker may store a record more than once, within seconds of its acceptance. The clock may be a minute ahead of the
 * service's, so this is by far long enough.
 */
export const REPEAT_SECONDS = 120;

/**
 * Why a VALIDATING order that was read still waits. FUNDS: their reading was put off. SIGNATURE: its maker's contract
 * has changed and not accepted the signature since. TAKING_TOKEN: the token that it takes has no code.
 */
export type WaitsFor = 'FUNDS' | 'SIGNATURE' | 'TAKING_TOKEN';

/** Why an INACTIVE order cannot be filled. */
export type InactiveReason = 'INSUFFICIENT_ALLOWANCE' | 'INSUFFICIENT_BALANCE';

/** The status of an open order. Only an INACTIVE order has a reason. A VALIDATING order that was read may wait. */
export type OrderStatus =
  | { readonly status: 'VALIDATING'; readonly waitsFor?: WaitsFor }
  | { readonly status: 'ACTIVE' }
  | { readonly status: 'INACTIVE'; readonly reason: InactiveReason };

/** Why an order is INACTIVE, or what a VALIDATING one waits for; null if neither. */
export function reasonOf(state: OrderStatus): InactiveReason | WaitsFor | null {
  if (state.status === 'INACTIVE') return state.reason;
  return (state.status === 'VALIDATING' ? state.waitsFor : undefined) ?? null;
}

export function sameState(a: OrderStatus, b: OrderStatus): boolean {
  return a.status === b.status && reasonOf(a) === reasonOf(b);
}

/** Why an order left the service's storage. */
export type RemovalReason = 'CANCELLED' | 'CANCELLED_ONCHAIN' | 'NONCE_CHANGED' | 'FILLED' | 'EXPIRED';

/** Why an open order is out of the router's book: its last seconds, its maker's state, or a cap on fills. */
export type WithholdingReason = 'GRACE_PERIOD' | 'QUARANTINED' | 'SUSPENDED' | 'CAPPED';

/** An order that the service stores and lists. It is never changed in place. */
export interface OpenOrder {
  readonly orderHash: Hex;
  readonly order: Order;
  readonly signature: Hex;
  /** The contract at the maker's address accepted the signature (EIP-1271), and may refuse it later. */
  readonly byWallet: boolean;
  readonly acceptedAtMs: number;
  /** The offset of its `OrderSubmitted`. Orders are listed by it, oldest first. */
  readonly acceptedOffset: bigint;
  /** The unfilled part of `order.making.amount`; always above zero. */
  readonly remaining: bigint;
  /** True once the order was read on the chain, with its maker's nonce and funds. Until then it is VALIDATING. */
  readonly isObserved: boolean;
  /** The order is VALIDATING until a reading says that it no longer waits for this. */
  readonly waitsFor?: Exclude<WaitsFor, 'FUNDS'> | undefined;
  readonly state: OrderStatus;
  /** True while the router's feed has the order: never before it was ACTIVE or INACTIVE, nor while it is withheld. */
  readonly inBook: boolean;
  /** Its maker's cap keeps it out of the book until this second; 0 if none does. */
  readonly cappedUntil: number;
}

/** True if the maker's list shows both alike. */
export function isListedAlike(a: OpenOrder, b: OpenOrder): boolean {
  return a.remaining === b.remaining && a.cappedUntil === b.cappedUntil && sameState(a.state, b.state);
}

export interface RoutingRules {
  /** The router's feed drops an order this long before it expires. */
  readonly routingGraceSeconds: number;
}

/** The second from which the router may no longer use the order: `expiresAt` minus the grace period, at least 0. */
export function routableUntilSeconds(order: Pick<OpenOrder, 'order'>, rules: RoutingRules): number {
  return routableUntilOf(expirySeconds(order), rules);
}

/** Like `routableUntilSeconds`, for an order that expires then. */
export function routableUntilOf(expiresAtSeconds: number, { routingGraceSeconds }: RoutingRules): number {
  return Math.max(0, expiresAtSeconds - routingGraceSeconds);
}

/** The second until which a repeat of the order's record may come. */
export function keptUntil({ acceptedAtMs }: Pick<OpenOrder, 'acceptedAtMs'>): number {
  return Math.ceil(acceptedAtMs / 1000) + REPEAT_SECONDS;
}

/** True if an order that expires then may be forgotten, whatever became of it. */
export function isForgotten(expiresAtSeconds: number, { seconds }: Pick<LogClock, 'seconds'>): boolean {
  return seconds >= expiresAtSeconds + HASH_MEMORY_SECONDS;
}

/** The second at which the order expires. */
export function expirySeconds({ order }: Pick<OpenOrder, 'order'>): number {
  return boundedSeconds(order.expiresAt);
}
