import { z } from 'zod';
import {
  address,
  blockNumber,
  bytes32,
  milliseconds,
  offset,
  order,
  quantity,
  seconds,
  signature,
} from './primitives.js';

/** Where in `limit-orders.maker-events.v1` the fact stands that led to a record. `offset` is a decimal string. */
export const logPosition = z.strictObject({ partition: z.int().nonnegative(), offset });

/** What the chain said of the maker's funds for the making token, each value with the block it was read at. */
export const fundingView = z.strictObject({
  balance: quantity,
  balanceBlock: blockNumber,
  allowance: quantity,
  allowanceBlock: blockNumber,
});

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
};

/**
 * A record of `limit-orders.book.v1`, keyed by order hash: one order as the router may use it.
 * Only `ACTIVE` entries can be filled. The order's removal, or its last 60 seconds, is a tombstone, and final.
 * The last messages of a partition may come again. A reader should keep the highest `position` that it has seen of each key
 * (a tombstone has it in the headers `position_partition` and `position_offset`), and leave out an entry that does not stand
 * above it.
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
 * A record of `limit-orders.resume.v1`, keyed `position:<partition>`: the feeds of the partition hold what every fact
 * before this offset of the log led to. The fact at `position` is a `BlockProcessed`, and a later block stands behind it.
 */
export const bookPosition = z.strictObject({ type: z.literal('BookPosition'), position: logPosition });

/**
 * A record of `limit-orders.resume.v1`, keyed by order hash: an open order that the book does not show, as the router may
 * not use it any more (Interface 2.4, routing grace period). Its removal is a tombstone. An order stands here before its
 * tombstone stands in the book, so who reads the book first and this after it misses none.
 */
export const withheldOrder = z.strictObject({
  type: z.literal('WithheldOrder'),
  orderHash: bytes32,
  order,
  acceptedAtMs: milliseconds,
  position: logPosition,
});

/** Every record of `limit-orders.resume.v1`: what a reader needs beside the book to go on in the log. */
export const resumeRecord = z.discriminatedUnion('type', [bookPosition, withheldOrder]);

export type LogPosition = z.infer<typeof logPosition>;
export type FundingView = z.infer<typeof fundingView>;
export type BookEntry = z.infer<typeof bookEntry>;
export type MakerView = z.infer<typeof makerView>;
export type BookPosition = z.infer<typeof bookPosition>;
export type WithheldOrder = z.infer<typeof withheldOrder>;
export type ResumeRecord = z.infer<typeof resumeRecord>;
