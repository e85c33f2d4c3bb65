import { z } from 'zod';
import {
  address,
  blockNumber,
  blockRef,
  bytes32,
  type Cause,
  cause,
  makerLimits,
  milliseconds,
  order,
  quantity,
  readKeys,
  seconds,
  serviceMode,
  signature,
} from './primitives.js';

/** `OrderSubmitted`: ingress accepted a maker's order. Written once the order has passed every check of POST. */
export const orderSubmitted = z.object({
  type: z.literal('OrderSubmitted'),
  maker: address,
  orderHash: bytes32,
  order,
  signature,
  byWallet: z
    .literal(true)
    .optional()
    .describe(
      "the contract at the maker's address accepted the signature (EIP-1271); left out: the maker's key signed",
    ),
  acceptedAtMs: milliseconds,
  cause,
});

/**
 * `OrderCancelled`: the maker cancelled one order with the service. It may come before the order's `OrderSubmitted`, or
 * without one: such an order is never open.
 */
export const orderCancelled = z.object({
  type: z.literal('OrderCancelled'),
  maker: address,
  orderHash: bytes32,
  /** When the order expires, at most 2^53 - 1. After that nobody need remember the cancellation. */
  expiresAtSeconds: seconds,
  cause,
});

/**
 * `OrdersCancelled`: the maker cancelled all its orders of some tokens that were accepted by a time. If such an order
 * comes later in the log, it is never open.
 */
export const ordersCancelled = z.object({
  type: z.literal('OrdersCancelled'),
  maker: address,
  making: address.optional().describe('the token that the orders sell; left out: any'),
  taking: address.optional().describe('the token that they want; left out: any'),
  untilMs: milliseconds.describe('orders that were accepted by then, in milliseconds since 1970'),
  cause,
});

/**
 * `SwitchSet`: once the partition's clock reaches `cancelAt`, the orders of the maker that were accepted by then are
 * cancelled, unless a newer `SwitchSet` came first. 0 turns the switch off. It changes nothing unless it was issued
 * after the newest one, by the maker or a key that may cancel for the maker.
 */
export const switchSet = z.object({
  type: z.literal('SwitchSet'),
  maker: address,
  cancelAt: seconds.describe('seconds since 1970; 0: never'),
  issuedAtMs: milliseconds.describe('when it was signed'),
  key: address.optional().describe('the key that signed it for the maker; left out: the maker did'),
  cause,
});

/**
 * `CancelKeysSet`: these addresses may cancel for the maker or read for it, and no others. It changes nothing unless it
 * was issued after the newest one. If a removed key set the newest switch, the switch stays, and its time of issue no
 * longer counts.
 */
export const cancelKeysSet = z.object({
  type: z.literal('CancelKeysSet'),
  maker: address,
  keys: z.array(address).describe('the addresses that may cancel for the maker'),
  ...readKeys,
  issuedAtMs: milliseconds.describe('when the maker signed it'),
  cause,
});

/**
 * `FillCapSet`: if more than `amount` of the token is filled within a window, the maker's orders that sell it leave the
 * book until the window has passed. It replaces the maker's cap of the token and resets its count. An amount or a
 * window of zero removes the cap. It changes nothing unless it was issued after the newest one of its token.
 */
export const fillCapSet = z.object({
  type: z.literal('FillCapSet'),
  maker: address,
  token: address.describe('the token that the orders sell'),
  amount: quantity.describe('what may be filled within a window; 0: no cap'),
  windowSeconds: z.int().nonnegative().describe('how long a window lasts; 0: no cap'),
  issuedAtMs: milliseconds.describe('when the maker signed it'),
  cause,
});

/** The maker's balance of a token, and its allowance for the protocol. An unreadable token counts as zero. */
export const observedFunds = z.object({
  token: address,
  balance: quantity,
  allowance: quantity,
  unread: z
    .literal(true)
    .optional()
    .describe(
      'reading the token with this block costs too much: orders that sell it are VALIDATING until a record has the values. Both are zero here',
    ),
});

/**
 * An order's own state on the chain. `filled` is the sum of all fills of its making amount. `cancelled`: by
 * `cancelOrder`, or by an amount that can never be filled again. A `refused` order is VALIDATING until a later record
 * names it without `refused`.
 */
export const observedOrder = z.object({
  orderHash: bytes32,
  filled: quantity,
  cancelled: z.boolean().describe('by `cancelOrder`, or by an amount that can never be filled again'),
  refused: z
    .literal(true)
    .optional()
    .describe(
      "the order cannot be filled: the contract at the maker's address does not accept the signature, or `noCode`. Left out: it does, or a key signed",
    ),
  noCode: z.literal(true).optional().describe('the token that the order takes has no code'),
});

/**
 * One fill of a maker's order, as `OrderFilled` of the protocol says it. A log has one place in one block, which
 * reveals a repeat. The fills of a maker come in the order of the chain. Facts of earlier releases lack the optional
 * fields.
 */
export const orderFill = z.object({
  orderHash: bytes32,
  taker: address,
  makingAmount: quantity.describe('what the maker sold'),
  takingAmount: quantity.describe('what the maker got for it'),
  makingToken: address
    .optional()
    .describe('what the order sells; left out if the order is not open here and the token logged no Transfer'),
  takingToken: address.optional().describe('what it wants; left out if the token logged no Transfer'),
  remaining: quantity.optional().describe('what was left of the making amount afterwards'),
  timestamp: seconds.optional().describe('the time of its block, in seconds since 1970'),
  blockNumber,
  transactionHash: bytes32,
  logIndex: z.int().nonnegative().describe('its place in the block'),
});

/**
 * `MakerObserved`: a maker's state as read at one block. Values are absolute: a repeat changes nothing. Judge the whole
 * record at once, because values of one block belong together. An order is VALIDATING until a record names it. A
 * record that names an order also has the nonce, and the funds of the token that the order sells. `cause` says why the
 * maker was read: the first log that touched it, or another occasion.
 */
export const makerObserved = z.object({
  type: z.literal('MakerObserved'),
  maker: address,
  block: blockRef,
  cause,
  nonce: quantity.optional().describe("the maker's cancel-all counter; left out if it was not read"),
  funds: z
    .array(observedFunds)
    .describe('what the maker holds of each token that was read, and what the protocol may transfer'),
  orders: z.array(observedOrder).describe('the state on the chain of each order that was read'),
  signaturesUnread: z
    .literal(true)
    .optional()
    .describe(
      "the contract at the maker's address may judge signatures differently from this block on, and was not asked yet: its orders are VALIDATING until a record names them",
    ),
  fills: z
    .array(orderFill)
    .optional()
    .describe(
      'fills of orders of the maker since the block before, also of orders that are not open here; may come twice',
    ),
});

/** `MakerAdmitted`: an operator put the maker on the whitelist. Open orders that are still valid return to the book. */
export const makerAdmitted = z.object({ type: z.literal('MakerAdmitted'), maker: address, cause });

/** `MakerSuspended`: an operator took the maker's access for a time. Open orders leave the book and stay listed. */
export const makerSuspended = z.object({ type: z.literal('MakerSuspended'), maker: address, cause });

/** `MakerRemoved`: an operator took the maker off the whitelist. Open orders leave the book and stay listed. */
export const makerRemoved = z.object({ type: z.literal('MakerRemoved'), maker: address, cause });

/** `MakerLimitsSet`: an operator gave the maker limits of its own. They replace all that it had. */
export const makerLimitsSet = z.object({
  type: z.literal('MakerLimitsSet'),
  maker: address,
  limits: makerLimits,
  cause,
});

/** `QuarantineLifted`: an operator had the maker folded again, from the fact that could not be folded. */
export const quarantineLifted = z.object({ type: z.literal('QuarantineLifted'), maker: address, cause });

/** `ServiceModeSet`: the mode of the whole service from here on. The message is in partition 0, and has no key. */
export const serviceModeSet = z.object({ type: z.literal('ServiceModeSet'), mode: serviceMode, cause });

/**
 * `BlockProcessed`: all facts of this block and earlier ones about the partition's makers come before it in the
 * partition. The message is in every partition, and has no key.
 */
export const blockProcessed = z.object({ type: z.literal('BlockProcessed'), block: blockRef });

/**
 * `WatcherResigned`: the chain-watcher that published has stopped. Another one may take over at once. The message is in
 * partition 0, and has no key.
 */
export const watcherResigned = z.object({ type: z.literal('WatcherResigned') });

/** Every fact on `limit-orders.maker-events.v1`. */
export const makerEvent = z.discriminatedUnion('type', [
  orderSubmitted,
  orderCancelled,
  ordersCancelled,
  switchSet,
  cancelKeysSet,
  fillCapSet,
  makerObserved,
  makerAdmitted,
  makerSuspended,
  makerRemoved,
  makerLimitsSet,
  quarantineLifted,
  serviceModeSet,
  blockProcessed,
  watcherResigned,
]);

export type OrderSubmitted = z.infer<typeof orderSubmitted>;
export type OrderCancelled = z.infer<typeof orderCancelled>;
export type OrdersCancelled = z.infer<typeof ordersCancelled>;
export type SwitchSet = z.infer<typeof switchSet>;
export type CancelKeysSet = z.infer<typeof cancelKeysSet>;
export type FillCapSet = z.infer<typeof fillCapSet>;
export type ObservedFunds = z.infer<typeof observedFunds>;
export type ObservedOrder = z.infer<typeof observedOrder>;
export type OrderFill = z.infer<typeof orderFill>;
export type MakerObserved = z.infer<typeof makerObserved>;
export type QuarantineLifted = z.infer<typeof quarantineLifted>;
export type ServiceModeSet = z.infer<typeof serviceModeSet>;
export type BlockProcessed = z.infer<typeof blockProcessed>;
export type WatcherResigned = z.infer<typeof watcherResigned>;
export type MakerEvent = z.infer<typeof makerEvent>;

/** Facts that change one maker. */
export type MakerFact = Exclude<MakerEvent, BlockProcessed | WatcherResigned | QuarantineLifted | ServiceModeSet>;

const HOLD = 'hold:';

/** The cause with which `salvage` suspends an admitted maker, and sets the service to take only cancellations. */
export function holdCause(commandId: string): Cause {
  return { kind: 'operator', commandId: `${HOLD}${commandId}`, by: 'salvage', reason: 'the log was restored' };
}

/** Whether `salvage` decided it, not an operator. */
export function isHold(cause: Cause): boolean {
  return cause.kind === 'operator' && cause.commandId.startsWith(HOLD);
}
