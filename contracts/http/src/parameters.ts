import { z } from 'zod';
import { examples } from './examples.js';
import { orderHashInput, quantityInput, signatureInput } from './orders.js';

const list = { style: 'form', explode: false } as const;
const unixSeconds = (description: string, example: number) =>
  z
    .int()
    .nonnegative()
    .meta({ description, examples: [example] });

/** Orders of one page of a list. */
export const PAGE_ORDERS_MAX = 1000;

/** The query of GET (Interface 4.2). */
export const listQuery = z.object({
  issuedAt: unixSeconds(
    'When the request was signed: Unix seconds, and the `issuedAt` of the signed message',
    examples.listQuery.issuedAt,
  ),
  salt: quantityInput.meta({
    description: 'The salt of the signed domain, used once. Fewer than 32 bytes are padded with zeros on the left',
    examples: [examples.listQuery.salt],
  }),
  signature: signatureInput.meta({
    description: 'Over `GetLimitOrdersRequest`, in the domain that has `salt`',
    examples: [examples.listQuery.signature],
  }),
  limit: z
    .int()
    .min(1)
    .max(PAGE_ORDERS_MAX)
    .optional()
    .meta({ description: 'At most so many orders. Without it and `cursor`: the whole list' }),
  cursor: z
    .string()
    .regex(/^[0-9]{1,15}$/)
    .optional()
    .meta({ description: 'The `X-Next-Cursor` of the page before. Not signed, as `limit` is not' }),
});

/** The headers of GET that mean something (Interface 4.2). */
export const listHeaders = z.object({
  'If-None-Match': z
    .string()
    .optional()
    .meta({ description: 'The `ETag` of a list: 304 is answered where it is the same' }),
});

/** The query of DELETE (Interface 4.4). */
export const cancelQuery = z.object({
  orderHashes: z
    .array(orderHashInput)
    .min(1)
    .meta({ description: 'The orders to cancel', examples: [examples.cancelQuery.orderHashes], param: list }),
  signatures: z
    .array(signatureInput)
    .min(1)
    .meta({
      description: 'The n-th belongs to the n-th hash: over `OrderCancellationRequest`',
      examples: [examples.cancelQuery.signatures],
      param: list,
    }),
  salt: quantityInput.optional().meta({
    description: "The salt of the signed domain, for all hashes. Without it: each order's own",
    examples: [examples.placements[0]?.order.salt],
  }),
});

/** The query of POST …/cancellations (Interface 4.4). */
export const cancellationsQuery = cancelQuery.pick({ salt: true });

/** The headers of POST that mean something (Interface 4.3). */
export const placeHeaders = z.object({
  'Valid-Until': unixSeconds(
    'Unix seconds. Orders that are judged later are not stored: `valid_until_passed`. Without it: no bound',
    examples.listQuery.issuedAt,
  ).optional(),
});
