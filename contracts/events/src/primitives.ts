import type { Hex } from '@makerbook/contracts-primitives';
import { z } from 'zod';

/** The patterns that texts must match. */
export const patterns = {
  address: /^0x[0-9a-f]{40}$/,
  bytes32: /^0x[0-9a-f]{64}$/,
  quantity: /^0x(0|[1-9a-f][0-9a-f]{0,63})$/,
  signature: /^0x([0-9a-f]{2}){0,1024}$/,
  offset: /^(0|[1-9][0-9]*)$/,
} as const;

const hex = (pattern: RegExp, description: string) =>
  z
    .custom<Hex>((value) => typeof value === 'string' && pattern.test(value), { error: description })
    .meta({ type: 'string', pattern: pattern.source, description });

/** A 20-byte address in lowercase hex. */
export const address = hex(patterns.address, 'a 20-byte address in lowercase hex');

/** 32 bytes in lowercase hex: an order hash, a block hash, a transaction hash. */
export const bytes32 = hex(patterns.bytes32, '32 bytes in lowercase hex');

/** A uint256 in minimal lowercase hex: `0x0`, `0x1f`. */
export const quantity = hex(patterns.quantity, 'a uint256 in minimal lowercase hex');

/** An accepted signature. A key's has 65 bytes r‖s‖v, or the 64 of EIP-2098. A contract's has any bytes. */
export const signature = hex(
  patterns.signature,
  "a signature in lowercase hex: a key's has 64 or 65 bytes, a contract's up to 1024",
);

/** A block number. */
export const blockNumber = z.int().nonnegative().describe('a block number');

export const offset = z
  .string()
  .regex(patterns.offset)
  .describe('an offset of a partition, in decimal: it may be beyond what a JSON number holds');

export const seconds = z.int().nonnegative().describe('seconds since 1970');

export const milliseconds = z.int().nonnegative().describe('milliseconds since 1970');

/** An amount of one token. `amount` is in the token's smallest unit. */
export const tokenAmount = z
  .object({ token: address, amount: quantity })
  .describe("an amount of one token, in the token's smallest unit");

/** An order as the maker signed it, in the normal form of responses. */
export const order = z
  .object({
    salt: quantity,
    nonce: quantity,
    expiresAt: quantity,
    making: tokenAmount.describe('what the maker sells'),
    taking: tokenAmount.describe('what the maker wants for all of it'),
    maker: address,
    permittedTaker: address,
  })
  .describe('an order as its maker signed it');

/** The block at which a fact about the chain holds. */
export const blockRef = z.object({ number: blockNumber, hash: bytes32, timestamp: seconds }).describe('a block');

/** The cause of a fact: a maker's request, a log of a transaction, a read of the chain, or an operator's command. */
export const cause = z
  .discriminatedUnion('kind', [
    z.object({
      kind: z.literal('request').describe('a request of the maker'),
      requestId: z.string().min(1).max(128).describe('the `X-Request-Id` of its answer'),
    }),
    z.object({
      kind: z.literal('log').describe('a log of a transaction'),
      transactionHash: bytes32,
      logIndex: z.int().nonnegative().describe('its place in the block'),
    }),
    z.object({
      kind: z.literal('read').describe('a read of the chain'),
      occasion: z
        .enum(['ORDER', 'CATCH_UP', 'SWEEP'])
        .describe('a new order, a watcher that was behind, or the regular sweep'),
    }),
    z.object({
      kind: z.literal('operator').describe('a command of the operator'),
      commandId: z.string().min(1).max(128).describe('names the command'),
      by: z.string().min(1).max(128).optional().describe('who decided it'),
      reason: z.string().min(1).max(500).optional().describe("why, in the operator's words"),
    }),
  ])
  .describe('what led to the fact');

/** Addresses that may read for a maker, keyed by what they may read; none if left out. */
export const readKeys = {
  listKeys: z.array(address).optional().describe('addresses that may list for the maker'),
  streamKeys: z.array(address).optional().describe('addresses that may stream for the maker'),
  historyKeys: z.array(address).optional().describe('addresses that may read the history for the maker'),
};

/**
 * The limits of one maker, each instead of the service's own. A limit that is left out is the service's. There are open
 * orders, and the budget of POST: how many orders per second fill it, and how many it holds when full.
 */
export const makerLimits = z
  .object({
    openOrdersMax: z.int().min(1).max(1_000_000).optional().describe('open orders'),
    ordersPerSecond: z
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe('orders that the budget of POST gains each second'),
    ordersBurst: z.int().min(1).max(1_000_000).optional().describe('orders that the budget holds when it is full'),
  })
  .describe("limits of one maker instead of the service's own; a limit that is left out is the service's");

/** `CANCEL_ONLY`: the service places no orders. It still cancels, lists and patches. */
export const serviceMode = z
  .enum(['NORMAL', 'CANCEL_ONLY'])
  .describe('`CANCEL_ONLY`: the service places no orders; it still cancels, lists and patches');

export type OrderBody = z.infer<typeof order>;
export type BlockRef = z.infer<typeof blockRef>;
export type Cause = z.infer<typeof cause>;
export type ReadKeys = z.infer<z.ZodObject<typeof readKeys>>;
export type MakerLimits = z.infer<typeof makerLimits>;
export type ServiceMode = z.infer<typeof serviceMode>;
