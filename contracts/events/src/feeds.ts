import { z } from 'zod';
import {
  address,
  blockNumber,
  blockRef,
  bytes32,
  makerLimits,
  milliseconds,
  offset,
  order,
  quantity,
  readKeys,
  seconds,
  serviceMode,
  signature,
} from './primitives.js';

/** The fact that led to a record: its place in `limit-orders.maker-events.v1`. `offset` is a decimal string. */
export const logPosition = z
  .object({ partition: z.int().nonnegative().describe('a partition'), offset })
  .describe('the place of a fact in `limit-orders.maker-events.v1`');

/** The maker's funds in the making token as they were judged, and the block at which they were read. */
export const fundingView = z
  .object({ balance: quantity, allowance: quantity, block: blockNumber })
  .describe('the funds of the maker in the making token, as they were judged, and the block at which they were read');

/**
 * Why a record of the book was published: `OBSERVED` (the order was read on the chain for the first time, or its wallet
 * refuses its signature or accepts it again), `FILLED`, `ALLOWANCE_CHANGED`, `BALANCE_CHANGED`, `NONCE_CHANGED`,
 * `ADMITTED` (its maker was suspended or removed, and is on the whitelist again), `CAP_CHANGED` (its maker's cap no
 * longer withholds it). Only earlier releases wrote `SUBMITTED` (the order is new) and `RELEASED` (its maker left
 * quarantine): now such an order enters the book only after it is read.
 */
export const bookCause = z.enum([
  'SUBMITTED',
  'OBSERVED',
  'FILLED',
  'ALLOWANCE_CHANGED',
  'BALANCE_CHANGED',
  'NONCE_CHANGED',
  'RELEASED',
  'ADMITTED',
  'CAP_CHANGED',
]);

/**
 * Why an order left the book. After `GRACE_PERIOD` it is still listed until it expires. After the last three it may
 * come back. `SUSPENDED`: its maker was suspended or removed from the whitelist. `CAPPED`: its maker's cap on fills was
 * exceeded.
 */
export const bookRemovalReason = z.enum([
  'CANCELLED',
  'CANCELLED_ONCHAIN',
  'NONCE_CHANGED',
  'FILLED',
  'EXPIRED',
  'GRACE_PERIOD',
  'QUARANTINED',
  'SUSPENDED',
  'CAPPED',
]);

const bookEntryBase = {
  type: z.literal('BookEntry'),
  orderHash: bytes32,
  order,
  signature,
  remainingMakingAmount: quantity.describe('what is left to fill of order.making.amount'),
  routableUntil: seconds.describe(
    'the second, since 1970, from which the router does not use the order: expiresAt less the grace period of 60 s',
  ),
  acceptedAtMs: milliseconds,
  position: logPosition,
  causes: z
    .array(bookCause)
    .describe('what changed since the record before; if only funds changed, one order of each token reports it'),
};

/**
 * A record of `limit-orders.book.v1`, keyed by order hash: one order as the router may use it. The order enters the
 * book, first or again, as `ACTIVE` or `INACTIVE`. Only `ACTIVE` entries can be filled. A tombstone takes the order
 * out. Its header `removal` is the reason. Each record is published exactly once.
 */
export const bookEntry = z.discriminatedUnion('status', [
  z.object({
    ...bookEntryBase,
    status: z.literal('VALIDATING').describe('it must be read again, or its wallet does not accept its signature'),
  }),
  z.object({
    ...bookEntryBase,
    status: z.literal('ACTIVE').describe('it could be filled at the last block'),
    funding: fundingView,
  }),
  z.object({
    ...bookEntryBase,
    status: z.literal('INACTIVE').describe('the funds of the maker do not cover it'),
    reason: z.enum(['INSUFFICIENT_ALLOWANCE', 'INSUFFICIENT_BALANCE']).describe('what does not cover it'),
    funding: fundingView,
  }),
]);

/**
 * A record of `limit-orders.makers.v1`, keyed by maker: the state of a maker that ingress and query need. `nonce` is
 * the highest nonce read from the chain, null before the first reading. `limits` is there if the maker has limits of
 * its own.
 */
export const makerView = z.object({
  type: z.literal('MakerView'),
  maker: address,
  admission: z
    .enum(['UNKNOWN', 'ADMITTED', 'SUSPENDED', 'REMOVED'])
    .describe('what was last decided; `UNKNOWN`: nothing'),
  nonce: quantity.nullable().describe('the highest that was read from the chain; null before the first reading'),
  limits: makerLimits.optional().describe('the limits of its own, if the maker has some'),
  cancelKeys: z.array(address).optional().describe('addresses that may cancel for the maker, if there are some'),
  ...readKeys,
  position: logPosition,
});

/** A record of `limit-orders.makers.v1`, keyed `service`: the mode of the whole service. `NORMAL` without a record. */
export const serviceView = z.object({ type: z.literal('ServiceView'), mode: serviceMode, position: logPosition });

/** Every record of `limit-orders.makers.v1`. */
export const makersRecord = z.discriminatedUnion('type', [makerView, serviceView]);

/**
 * A record of `limit-orders.book.v1`, keyed `clock:<partition>`, once for each block: the partition of the book is
 * complete up to this block, and up to the facts before `position` in the log. If the clock stops, the partition is
 * behind, not quiet.
 */
export const bookClock = z.object({
  type: z.literal('BookClock'),
  block: blockRef,
  position: logPosition,
  log: z
    .string()
    .regex(/^[0-9a-f]{8}$/)
    .optional()
    .describe("the name of the log's partition: another log has another name, and so has a restored one"),
  book: z
    .object({ entries: z.int().nonnegative().describe('how many orders it holds'), hash: bytes32 })
    .optional()
    .describe(
      'the book of the partition: a reader compares it to find lost records. `hash` is the sum, modulo 2^256, of the SHA-256 of the text `orderHash:remainingMakingAmount:status` of each order',
    ),
});

/** Every record of `limit-orders.book.v1` that is not a tombstone. */
export const bookRecord = z.discriminatedUnion('type', [bookEntry, bookClock]);

/**
 * A record of `limit-orders.fills.v1`, keyed `<blockNumber>:<logIndex>`: a fill of a maker's order, as `OrderFilled` of
 * the protocol says it, whether the order is open, has ended or was posted later. The fills of a maker come in the
 * order of the chain. After a take-over of the chain-watcher a fill may come twice, with the same key: a reader counts
 * a key once. Facts of earlier releases lack the optional fields. A token is also missing if it logged no `Transfer`
 * and the order is not open.
 */
export const fill = z.object({
  type: z.literal('Fill'),
  orderHash: bytes32,
  maker: address,
  taker: address.describe('who filled the order'),
  makingToken: address.optional().describe('what the maker sold'),
  makingAmount: quantity.describe('how much of it'),
  takingToken: address.optional().describe('what the maker got'),
  takingAmount: quantity.describe('how much of it: the price is this divided by what was sold'),
  remainingMakingAmount: quantity.optional().describe('what was left of order.making.amount afterwards'),
  blockNumber,
  blockTimestamp: seconds.optional().describe('the time of the block, in seconds since 1970'),
  transactionHash: bytes32,
  logIndex: z.int().nonnegative().describe('its place in the block'),
  position: logPosition,
});

/** The name that the operator gives a router. */
export const routerName = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{1,64}$/)
  .describe('the name by which the operator knows the router');

/**
 * A record of `limit-orders.acks.v1`, keyed `<router>:<partition>`: a router has applied its book up to the partition's
 * clock with this `position`.
 */
export const bookAcknowledged = z.object({
  type: z.literal('BookAcknowledged'),
  router: routerName,
  position: logPosition,
});

export type BookAcknowledged = z.infer<typeof bookAcknowledged>;
export type LogPosition = z.infer<typeof logPosition>;
export type FundingView = z.infer<typeof fundingView>;
export type BookEntry = z.infer<typeof bookEntry>;
export type MakerView = z.infer<typeof makerView>;
export type ServiceView = z.infer<typeof serviceView>;
export type MakersRecord = z.infer<typeof makersRecord>;
export type BookCause = z.infer<typeof bookCause>;
export type BookRemovalReason = z.infer<typeof bookRemovalReason>;
export type BookClock = z.infer<typeof bookClock>;
export type Fill = z.infer<typeof fill>;
export type BookRecord = z.infer<typeof bookRecord>;
