import { MakerbookError } from '../errors.js';
import type { SignedOrder } from '../take-orders.js';

/** An order was not placed, or may have been. Its hash serves to look it up and to cancel it. */
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

/** Names the order if it cannot be placed. @throws PlacingFailed if the service or the network has failed */
export function nameInFailure<T>(order: SignedOrder, placing: Promise<T>): Promise<T> {
  return placing.catch((error: unknown) => {
    throw error instanceof MakerbookError ? new PlacingFailed(order, error) : error;
  });
}
