import type { Hex } from '@makerbook/contracts-primitives';
import { z } from 'zod';

const hex = (pattern: RegExp, description: string) =>
  z
    .custom<Hex>((value) => typeof value === 'string' && pattern.test(value), { error: description })
    .meta({ type: 'string', pattern: pattern.source, description });

/** A 20-byte address in lowercase hex. */
export const address = hex(/^0x[0-9a-f]{40}$/, 'a 20-byte address in lowercase hex');

/** 32 bytes in lowercase hex: an order hash, a block hash, a transaction hash. */
export const bytes32 = hex(/^0x[0-9a-f]{64}$/, '32 bytes in lowercase hex');

/** A uint256 in minimal lowercase hex: `0x0`, `0x1f`. */
export const quantity = hex(/^0x(0|[1-9a-f][0-9a-f]{0,63})$/, 'a uint256 in minimal lowercase hex');

/** A maker's signature as it was accepted: 65 bytes r‖s‖v, or 64 bytes in the compact form of EIP-2098. */
export const signature = hex(/^0x([0-9a-f]{128}|[0-9a-f]{130})$/, 'a 64 or 65 byte signature in lowercase hex');

/** A block number. */
export const blockNumber = z.int().nonnegative();

/** An offset of a partition, in decimal: it may be beyond what a JSON number holds. */
export const offset = z.string().regex(/^(0|[1-9][0-9]*)$/);

/** Seconds since 1970. */
export const seconds = z.int().nonnegative();

/** Milliseconds since 1970. */
export const milliseconds = z.int().nonnegative();

/** An amount of one token. `amount` is in the token's smallest unit. */
export const tokenAmount = z.strictObject({ token: address, amount: quantity });

/** An order as the maker signed it, in the normal form of responses (Interface 2.2). */
export const order = z.strictObject({
  salt: quantity,
  nonce: quantity,
  expiresAt: quantity,
  making: tokenAmount,
  taking: tokenAmount,
  maker: address,
  permittedTaker: address,
});

/** The block at which a fact about the chain holds. */
export const blockRef = z.strictObject({ number: blockNumber, hash: bytes32, timestamp: seconds });

/** What led to a fact: a maker's request, a log of a transaction, a read of the chain, or an operator's command. */
export const cause = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('request'), requestId: z.string().min(1).max(128) }),
  z.strictObject({ kind: z.literal('log'), transactionHash: bytes32, logIndex: z.int().nonnegative() }),
  z.strictObject({ kind: z.literal('read'), occasion: z.enum(['ORDER', 'CATCH_UP', 'SWEEP']) }),
  z.strictObject({ kind: z.literal('operator'), commandId: z.string().min(1).max(128) }),
]);

export type OrderBody = z.infer<typeof order>;
export type BlockRef = z.infer<typeof blockRef>;
export type Cause = z.infer<typeof cause>;
