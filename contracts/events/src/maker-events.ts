import { z } from 'zod';
import {
  address,
  blockRef,
  bytes32,
  cause,
  milliseconds,
  offset,
  order,
  quantity,
  seconds,
  signature,
} from './primitives.js';

/** `OrderSubmitted`: a maker's order was accepted by ingress. Written once the order has passed every check of Interface 4.3. */
export const orderSubmitted = z.strictObject({
  type: z.literal('OrderSubmitted'),
  maker: address,
  orderHash: bytes32,
  order,
  signature,
  acceptedAtMs: milliseconds,
  cause,
});

/**
 * `OrderCancelled`: the maker cancelled one order through DELETE (Interface 4.4). It may stand before the order's
 * `OrderSubmitted`, or without one: such an order is never open.
 */
export const orderCancelled = z.strictObject({
  type: z.literal('OrderCancelled'),
  maker: address,
  orderHash: bytes32,
  /** When the order expires; no later than 2^53 - 1. Afterwards the cancellation need not be remembered. */
  expiresAtSeconds: seconds,
  cause,
});

/**
 * More of what was read of the maker at the same block follows: nothing is judged by this fact before the last of them, for
 * what they say together may be another thing than what each says alone.
 */
const hasMore = z.literal(true).optional();

/** `AllowanceChanged`: what the maker lets the protocol transfer of a token, as read at `block`. An absolute value. */
export const allowanceChanged = z.strictObject({
  type: z.literal('AllowanceChanged'),
  maker: address,
  token: address,
  allowance: quantity,
  block: blockRef,
  cause,
  hasMore,
});

/** `BalanceChanged`: what the maker holds of a token, as read at `block`. An absolute value. */
export const balanceChanged = z.strictObject({
  type: z.literal('BalanceChanged'),
  maker: address,
  token: address,
  balance: quantity,
  block: blockRef,
  cause,
  hasMore,
});

/** `NonceChanged`: the maker's cancel-all counter as read at `block`. An absolute value. */
export const nonceChanged = z.strictObject({
  type: z.literal('NonceChanged'),
  maker: address,
  nonce: quantity,
  block: blockRef,
  cause,
  hasMore,
});

/** `OrderCancelledOnChain`: the maker called `cancelOrder` for this order. */
export const orderCancelledOnChain = z.strictObject({
  type: z.literal('OrderCancelledOnChain'),
  maker: address,
  orderHash: bytes32,
  block: blockRef,
  cause,
});

/**
 * `OrderFilled`: `filledMakingAmount` is the sum of all fills of the order up to `block`, so a repeat changes nothing.
 * It is `0x0` when the chain was asked about a new order and nothing of it was filled: until then the order stays
 * VALIDATING.
 */
export const orderFilled = z.strictObject({
  type: z.literal('OrderFilled'),
  maker: address,
  orderHash: bytes32,
  filledMakingAmount: quantity,
  block: blockRef,
  cause,
  hasMore,
});

/** `MakerAdmitted`: an operator put the maker on the whitelist. */
export const makerAdmitted = z.strictObject({ type: z.literal('MakerAdmitted'), maker: address, cause });

/** `MakerSuspended`: an operator took the maker's access away for a time. Open orders stay. */
export const makerSuspended = z.strictObject({ type: z.literal('MakerSuspended'), maker: address, cause });

/** `MakerRemoved`: an operator took the maker off the whitelist. Open orders stay until cancelled or expired. */
export const makerRemoved = z.strictObject({ type: z.literal('MakerRemoved'), maker: address, cause });

/**
 * `BlockProcessed`: everything that this block and those before it say about any maker stands earlier in the partition.
 * Of orders that were submitted at `knownOffset` or later its watcher did not know when it matched the block: where another
 * one read them at an older block, they are to be read anew. Left out: it knew of all that stand before.
 */
export const blockProcessed = z.strictObject({
  type: z.literal('BlockProcessed'),
  block: blockRef,
  knownOffset: offset.optional(),
});

/** Every fact on `limit-orders.maker-events.v1`. */
export const makerEvent = z.discriminatedUnion('type', [
  orderSubmitted,
  orderCancelled,
  allowanceChanged,
  balanceChanged,
  nonceChanged,
  orderCancelledOnChain,
  orderFilled,
  makerAdmitted,
  makerSuspended,
  makerRemoved,
  blockProcessed,
]);

export type OrderSubmitted = z.infer<typeof orderSubmitted>;
export type OrderCancelled = z.infer<typeof orderCancelled>;
export type AllowanceChanged = z.infer<typeof allowanceChanged>;
export type BalanceChanged = z.infer<typeof balanceChanged>;
export type NonceChanged = z.infer<typeof nonceChanged>;
export type OrderCancelledOnChain = z.infer<typeof orderCancelledOnChain>;
export type OrderFilled = z.infer<typeof orderFilled>;
export type BlockProcessed = z.infer<typeof blockProcessed>;
export type MakerEvent = z.infer<typeof makerEvent>;
export type MakerFact = Exclude<MakerEvent, BlockProcessed>;
