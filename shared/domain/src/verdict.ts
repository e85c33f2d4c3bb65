import type { Address } from '@makerbook/contracts-primitives';
import type { Budget, BudgetName, Decision } from './standing.js';

/** Why a request is refused: the code of the answer, and what to do about it. */
export interface Refusal {
  readonly code:
    | 'unsupported_permitted_taker'
    | 'invalid_request'
    | 'maker_not_whitelisted'
    | 'order_expired'
    | 'order_cancelled'
    | 'duplicate'
    | 'valid_until_passed'
    | 'rate_limited'
    | 'too_many_orders'
    | 'remaining_changed'
    | 'superseded'
    | 'unavailable';
  /** The item of the request that failed, from 0. Left out if none did. */
  readonly index?: number;
  /**
   * JSON pointer to the one wrong field, if there is one. It points into the item, or into the request if no item
   * failed.
   */
  readonly pointer?: string;
  readonly detail: string;
  /** The time after which the same request may succeed. */
  readonly retryAfterMs?: number;
  /** Set for `superseded`: the instruction that counts. */
  readonly counts?: object;
  /** The remaining amount of an order that was not replaced, in minimal hex. */
  readonly remainingMakingAmount?: string;
  /** Set for `unavailable`: another request with the same hash is in flight, or the store of orders has lost rows. */
  readonly cause?: 'in_flight' | 'untrusted';
  /** Set for a replacement if an item of the list `cancel` failed, not one of the new orders. */
  readonly list?: 'cancel';
}

/** The decision about a request. A refusal may still charge. */
export interface Verdict {
  /** The writes to store, all or none. */
  readonly decisions: readonly Decision[];
  readonly refusal?: Refusal;
  /** The rest of each maker's budget that was asked. */
  readonly left?: {
    readonly of: BudgetName;
    readonly makers: readonly { readonly maker: Address; readonly budget: Budget }[];
    readonly remaining: readonly number[];
  };
  /** How many of the orders are charged to the client's address. */
  readonly ofClient: number;
  /** Set for an instruction that is taken; false if the log may have a newer one. */
  readonly isKnown?: boolean;
}

/** A refusal that stores nothing and charges no maker. */
export function refused(refusal: Refusal): Verdict {
  return { decisions: [], refusal, ofClient: 0 };
}

export function unavailable(detail: string, retryAfterMs?: number): Refusal {
  return { code: 'unavailable', detail, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}
