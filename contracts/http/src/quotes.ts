import { z } from 'zod';

const UINT256_LIMIT = 1n << 256n;

const amountError =
  'must be a string: hex of at most 32 bytes such as "0x1f", or a whole number such as "31", below 2^256';

/** An amount below 2^256, as hex or as decimal digits. Never a JSON number, which could not hold the amount. */
export const amountInput = z
  .string({ error: amountError })
  .regex(/^(0x[0-9a-fA-F]{1,64}|[0-9]{1,78})$/, { error: amountError, abort: true })
  .refine((text) => BigInt(text) < UINT256_LIMIT, { error: amountError })
  .describe('The new minimum in the smallest unit of the token: hex, or decimal digits');

/** Gives this message for a value of another type. Other issues keep their own message. */
const unlessObject = (error: string) => (issue: { readonly code: string }) =>
  issue.code === 'invalid_type' ? error : undefined;

/**
 * Body of PATCH /v0/quote/data. This schema does not check whether `data` is a swap call. The service does, and
 * answers `invalid_date` if it is not.
 */
export const quotePatchInput = z.strictObject(
  {
    data: z.string({ error: 'must be a hex string' }).meta({ description: '`quote.tx.data`: 0x-prefixed hex' }),
    minOutput: z
      .strictObject({ amount: amountInput }, { error: unlessObject('must be an object with `amount`') })
      .describe('The guaranteed minimum output (slippage assertion) that is wanted')
      .optional(),
  },
  { error: unlessObject('must be an object') },
);

/** The answer to PATCH /v0/quote/data, `text/plain`: only the patched data. */
export const quotePatchAnswer = z.string().regex(/^0x([0-9a-f]{2})+$/);
