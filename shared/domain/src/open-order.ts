import type { Hex } from '@makerbook/contracts-primitives';
import type { Order } from './order.js';

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
