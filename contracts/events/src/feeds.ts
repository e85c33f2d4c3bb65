import { z } from 'zod';
import {
  address,
  blockNumber,
  blockRef,
  bytes32,
  milliseconds,
  offset,
  order,
  quantity,
  seconds,
  signature,
} from './primitives.js';

/** The place in `limit-orders.maker-events.v1` of the fact that led to a record. `offset` is a decimal string. */
export const logPosition = z.strictObject({ partition: z.int().nonnegative(), offset });

/** The maker's funds in the making token as they were judged, and the block at which they were read. */
export const fundingView = z.strictObject({ balance: quantity, allowance: quantity, block: blockNumber });

/**
 * Why a record of the book was published: `SUBMITTED` (the order is new), `OBSERVED` (it was read on the chain for the first
 * time), `FILLED`, `ALLOWANCE_CHANGED`, `BALANCE_CHANGED`, `NONCE_CHANGED`, `RELEASED` (its maker left quarantine).
 */
export const bookCause = z.enum([
  'SUBMITTED',
  'OBSERVED',
  'FILLED',
  'ALLOWANCE_CHANGED',
  'BALANCE_CHANGED',
  'NONCE_CHANGED',
  'RELEASED',
]);

/** Why an order left the book. After `GRACE_PERIOD` it is still listed until it expires; after `QUARANTINED` it may come back. */
export const bookRemovalReason = z.enum([
  'CANCELLED',
  'CANCELLED_ONCHAIN',
  'NONCE_CHANGED',
  'FILLED',
  'EXPIRED',
  'GRACE_PERIOD',
  'QUARANTINED',
]);

const bookEntryBase = {
  type: z.literal('BookEntry'),
  orderHash: bytes32,
  order,
  signature,
  remainingMakingAmount: quantity,
  /** The router stops at this second: `expiresAt` less the grace period of Interface 2.4. */
  routableUntil: seconds,
  acceptedAtMs: milliseconds,
  position: logPosition,
  /** What changed since the record before. */
  causes: z.array(bookCause),
};

/**
 * A record of `limit-orders.book.v1`, keyed by order hash: one order as the router may use it. Only `ACTIVE` entries can be
 * filled. A tombstone takes the order out; its header `removal` is the reason. Each record is published exactly once.
 */
export const bookEntry = z.discriminatedUnion('status', [
  z.strictObject({ ...bookEntryBase, status: z.literal('VALIDATING') }),
  z.strictObject({ ...bookEntryBase, status: z.literal('ACTIVE'), funding: fundingView }),
  z.strictObject({
    ...bookEntryBase,
    status: z.literal('INACTIVE'),
    reason: z.enum(['INSUFFICIENT_ALLOWANCE', 'INSUFFICIENT_BALANCE']),
    funding: fundingView,
  }),
]);

/**
 * A record of `limit-orders.makers.v1`, keyed by maker: what ingress and query must know of a maker.
 * `nonce` is the highest nonce that the chain was seen to hold, null until it was read once.
 */
export const makerView = z.strictObject({
  type: z.literal('MakerView'),
  maker: address,
  admission: z.enum(['UNKNOWN', 'ADMITTED', 'SUSPENDED', 'REMOVED']),
  nonce: quantity.nullable(),
  position: logPosition,
});

/**
 * A record of `limit-orders.book.v1`, keyed `clock:<partition>`, once for each block: the partition of the book is complete
 * up to this block, and up to the facts before `position` in the log. A partition whose clock
 * stops is behind, and not quiet.
 */
export const bookClock = z.strictObject({ type: z.literal('BookClock'), block: blockRef, position: logPosition });

/** Every record of `limit-orders.book.v1` that is not a tombstone. */
export const bookRecord = z.union([bookEntry, bookClock]);

export type LogPosition = z.infer<typeof logPosition>;
export type FundingView = z.infer<typeof fundingView>;
export type BookEntry = z.infer<typeof bookEntry>;
export type MakerView = z.infer<typeof makerView>;
export type BookCause = z.infer<typeof bookCause>;
export type BookRemovalReason = z.infer<typeof bookRemovalReason>;
export type BookClock = z.infer<typeof bookClock>;
export type BookRecord = z.infer<typeof bookRecord>;
