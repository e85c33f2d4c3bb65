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
  /** The item of the request that failed, from 0, where one did. */
  readonly index?: number;
  /** JSON pointer to the one wrong field, if there is one: into the item, or into the request where no item failed. */
  readonly pointer?: string;
  readonly detail: string;
  /** When the same request may succeed. */
  readonly retryAfterMs?: number;
  /** The instruction that counts, of `superseded`. */
  readonly counts?: object;
  /** What is left of an order that is not replaced, in minimal hex. */
  readonly remainingMakingAmount?: string;
  /** Of `unavailable`: another request with the same hash has not ended, or the store of orders has lost rows. */
  readonly cause?: 'in_flight' | 'untrusted';
  /** Of a replacement: the list of the item that failed, where it is not that of the new orders. */
  readonly list?: 'cancel';
}

/** What was decided about a request. A refusal may charge all the same. */
export interface Verdict {
  /** To be stored, all or none. */
  readonly decisions: readonly Decision[];
  readonly refusal?: Refusal;
  /** What is left of the budgets that were asked, of each maker. */
  readonly left?: {
    readonly of: BudgetName;
    readonly makers: readonly { readonly maker: Address; readonly budget: Budget }[];
    readonly remaining: readonly number[];
  };
  /** How many of the orders are charged to the address of the client. */
  readonly ofClient: number;
  /** Of an instruction that is taken: false where the log may have a newer one. */
  readonly isKnown?: boolean;
}

/** Nothing is stored, and nothing is charged to a maker. */
export function refused(refusal: Refusal): Verdict {
  return { decisions: [], refusal, ofClient: 0 };
}

export function unavailable(detail: string, retryAfterMs?: number): Refusal {
  return { code: 'unavailable', detail, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}
