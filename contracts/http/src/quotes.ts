import { z } from 'zod';

const UINT256_LIMIT = 1n << 256n;

/** An amount as hex of at most 32 bytes, or as decimal digits; below 2^256. Never a JSON number: it could not hold it. */
export const amountInput = z
  .string()
  .regex(/^(0x[0-9a-fA-F]{1,64}|[0-9]{1,78})$/, { error: 'must be a hex or decimal string', abort: true })
  .refine((text) => BigInt(text) < UINT256_LIMIT, { error: 'must be below 2^256' });

/**
 * Body of PATCH /v0/quote/data (Interface 4.1). Whether `data` is a swap call is not the schema's to say: that is
 * `invalid_date`, not a shape error.
 */
export const quotePatchInput = z.strictObject({
  data: z.string().meta({ description: '`quote.tx.data`: 0x-prefixed hex' }),
  minOutput: z.strictObject({ amount: amountInput }).optional(),
});

/** The answer to it, `text/plain`: the patched data, bare. */
export const quotePatchAnswer = z.string().regex(/^0x([0-9a-f]{2})+$/);
