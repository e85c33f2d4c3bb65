import type { Hex } from '@makerbook/contracts-primitives';
import type { SignedOrder } from './sign-requests.js';

/** An order as the service answers it. */
export type LimitOrderRecord = SignedOrder &
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
