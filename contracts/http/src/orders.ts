import type { Hex } from '@makerbook/contracts-primitives';
import { z } from 'zod';

const hex = (pattern: RegExp, description: string) =>
  z
    .custom<Hex>((value) => typeof value === 'string' && pattern.test(value), { error: `must be ${description}` })
    .meta({ type: 'string', pattern: pattern.source, description });

/** A uint256 as a client may write it: any case, leading zeros allowed, at most 32 bytes. */
export const quantityInput = hex(/^0x[0-9a-fA-F]{1,64}$/, 'a hex quantity of at most 32 bytes, such as "0x1f"');

/** A 20-byte address as a client may write it: any case, any checksum. */
export const addressInput = hex(/^0x[0-9a-fA-F]{40}$/, 'a 20-byte hex address');

/** An order hash as a client may write it. */
export const orderHashInput = hex(/^0x[0-9a-fA-F]{64}$/, 'a 32-byte hex hash');

/**
 * Hex bytes of a signature as a client may write them. Verification decides whether they are a signature: a
 * wrong length or v is `invalid_signature`, not a shape error (Interface 4.3).
 */
export const signatureInput = hex(/^0x([0-9a-fA-F]{2}){0,1024}$/, 'hex bytes');

const tokenAmountInput = z.strictObject({ token: addressInput, amount: quantityInput });

/** An order as a maker posts it (Interface 2.2). Unknown fields are not allowed: they would not be signed. */
export const orderInput = z.strictObject({
  salt: quantityInput,
  nonce: quantityInput,
  expiresAt: quantityInput,
  making: tokenAmountInput,
  taking: tokenAmountInput,
  maker: addressInput,
  permittedTaker: addressInput,
});

/** One item of a POST (Interface 4.3). */
export const placementInput = z.strictObject({ order: orderInput, signature: signatureInput });

const tokenAmount = z.object({ token: z.string(), amount: z.string() });

const recordBase = {
  order: z.object({
    salt: z.string(),
    nonce: z.string(),
    expiresAt: z.string(),
    making: tokenAmount,
    taking: tokenAmount,
    maker: z.string(),
    permittedTaker: z.string(),
  }),
  orderHash: z.string(),
  signature: z.string(),
};

/** One item of the answer to POST and GET (Interface 2.3). Only an INACTIVE order has a reason. */
export const limitOrderRecord = z.discriminatedUnion('status', [
  z.object({ ...recordBase, status: z.literal('VALIDATING') }),
  z.object({ ...recordBase, status: z.literal('ACTIVE') }),
  z.object({
    ...recordBase,
    status: z.literal('INACTIVE'),
    reason: z.enum(['INSUFFICIENT_ALLOWANCE', 'INSUFFICIENT_BALANCE']),
  }),
]);

/** The answer to POST and GET. */
export const limitOrderRecords = z.array(limitOrderRecord);

/** The answer to DELETE: one item per hash, in the order of the request. */
export const cancellations = z.array(z.object({ orderHash: z.string(), status: z.enum(['CANCELLED', 'NOT_FOUND']) }));

export type PlacementInput = z.infer<typeof placementInput>;
export type LimitOrderRecord = z.infer<typeof limitOrderRecord>;
export type Cancellation = z.infer<typeof cancellations>[number];
