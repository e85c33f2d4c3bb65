import type { Hex } from '@makerbook/contracts-primitives';
import type { SignedOrder } from './sign-requests.js';

interface FilledInPart {
  /** What is left to be filled of the making amount, in hex; not there while nothing of the order is filled. */
  readonly remainingMakingAmount?: Hex | undefined;
}

/** An order as the service answers it. */
export type LimitOrderRecord = SignedOrder &
  FilledInPart &
  (
    | { readonly status: 'VALIDATING' | 'ACTIVE' }
    | { readonly status: 'INACTIVE'; readonly reason: 'INSUFFICIENT_ALLOWANCE' | 'INSUFFICIENT_BALANCE' }
  );

/** What became of one hash. */
export interface Cancellation {
  readonly orderHash: Hex;
  /** `NOT_FOUND`: no open order has the hash, and none can come to have it. */
  readonly status: 'CANCELLED' | 'NOT_FOUND';
}
