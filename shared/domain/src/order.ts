import type { OrderBody } from '@makerbook/contracts-events';
import type { Order, TokenAmount } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';

export { orderToBody } from '@makerbook/contracts-evm';
export type { Order, TokenAmount };

/** Parses the order of a fact or a response from its normal form. The caller has checked the shape. */
export function orderFromBody(body: OrderBody): Order {
  return {
    salt: BigInt(body.salt),
    nonce: BigInt(body.nonce),
    expiresAt: BigInt(body.expiresAt),
    making: { token: body.making.token, amount: BigInt(body.making.amount) },
    taking: { token: body.taking.token, amount: BigInt(body.taking.amount) },
    maker: body.maker,
    permittedTaker: body.permittedTaker,
  };
}

/** Seconds as a number that every store can hold. A time beyond 2^53 - 1 counts as 2^53 - 1: no clock gets there. */
export function boundedSeconds(value: bigint): number {
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
}

/** The latest possible expiry. It stands for that of an unknown order, whose hash is remembered forever. */
export const UNKNOWN_EXPIRY_SECONDS = Number.MAX_SAFE_INTEGER;

/** A hash and its maker. Anybody may cancel a hash, so a cancellation counts only for its own maker's order. */
export interface HashKey {
  readonly orderHash: Hex;
  readonly maker: Address;
}
