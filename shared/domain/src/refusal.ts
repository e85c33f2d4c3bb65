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
  /** JSON pointer to the field that is wrong, where one field is: into the item, or into the request where no item failed. */
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
