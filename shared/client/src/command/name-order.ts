import { MakerbookError } from '../errors.js';
import type { SignedOrder } from '../take-orders.js';

/** An order was not placed, or nobody knows whether it was: then it can be looked up and cancelled by its hash. */
export class PlacingFailed extends Error {
  override readonly name = 'PlacingFailed';
  readonly orderHash: string;
  readonly salt: string;

  constructor({ orderHash, order }: SignedOrder, cause: MakerbookError) {
    super(cause.message, { cause });
    this.orderHash = orderHash;
    this.salt = order.salt;
  }
}

/** Names the order where it cannot be placed. @throws PlacingFailed where the service or the network has failed */
export function nameInFailure<T>(order: SignedOrder, placing: Promise<T>): Promise<T> {
  return placing.catch((error: unknown) => {
    throw error instanceof MakerbookError ? new PlacingFailed(order, error) : error;
  });
}
