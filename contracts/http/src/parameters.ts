import type { Hex } from '@makerbook/contracts-primitives';
import { z } from 'zod';
import { examples } from './examples.js';
import { happenings } from './order-report.js';
import { addressInput, orderHashInput, quantityInput, signatureInput } from './orders.js';
import { timeText } from './times.js';

/** How a list is written in a query. */
export const list = { style: 'form', explode: false } as const;
/** A whole number in a query or a header: decimal digits. The document calls it an integer. */
const digits = (pattern: RegExp, error: string, examples: readonly number[] = []) =>
  z
    .custom<string>((text) => typeof text === 'string' && pattern.test(text), { error })
    .meta({ type: 'integer', ...(examples.length === 0 ? {} : { examples }) });
/** An address that filters a list. */
export const addressFilter = (description: string) =>
  addressInput
    .transform((address) => address.toLowerCase() as Hex)
    .optional()
    .meta({ description });
/** The most orders of one page of a list. */
const PAGE_ORDERS_MAX = 1000;

/** The query of GET. */
export const listQuery = z.object({
  issuedAt: digits(/^[0-9]{1,78}$/, 'must be an integer of Unix seconds', [examples.listQuery.issuedAt])
    .transform(BigInt)
    .refine((value) => value >> 256n === 0n, { error: 'must fit into a uint256' })
    .meta({
      description: 'When the request was signed: Unix seconds, and the `issuedAt` of the signed message',
      minimum: 0,
    }),
  salt: quantityInput.meta({
    description: 'The salt of the signed domain, used once. Fewer than 32 bytes are padded with zeros on the left',
    examples: [examples.listQuery.salt],
  }),
  signature: signatureInput.meta({
    description: 'Over `GetLimitOrdersRequest`, in the domain that has `salt`',
    examples: [examples.listQuery.signature],
  }),
  maker: addressInput
    .transform((address) => address.toLowerCase() as Hex)
    .optional()
    .meta({
      description:
        'The maker, if it is a contract wallet (EIP-1271), or if the signer is a key that may read this for it (POST …/cancel-keys). Without it: the signer',
    }),
  limit: digits(/^[1-9][0-9]{0,3}$/, `must be a whole number from 1 to ${PAGE_ORDERS_MAX}`)
    .transform(Number)
    .refine((value) => value <= PAGE_ORDERS_MAX, { error: `must be at most ${PAGE_ORDERS_MAX}` })
    .optional()
    .meta({
      description: 'The most orders of the page. Without it and `cursor`: the whole list',
      minimum: 1,
      maximum: PAGE_ORDERS_MAX,
    }),
  cursor: z
    .string()
    .regex(/^[0-9]{1,4}:(-|[0-9a-f]{8}):[0-9]{1,15}$/, {
      error: 'must be the X-Next-Cursor of the page before: leave it out to start over',
    })
    .optional()
    .meta({ description: 'The `X-Next-Cursor` of the page before. Neither it nor `limit` is signed' }),
});

/** The statuses of an open order. */
const openStatuses = ['VALIDATING', 'ACTIVE', 'INACTIVE'] as const;

/** The query of GET of the list. The parameters that filter orders are not signed. */
export const ordersQuery = listQuery.extend({
  orderSalt: quantityInput.optional().meta({
    description: 'Only orders with this `salt`, a number: the id that the maker gave them. There may be several',
  }),
  making: addressFilter('Only orders that sell this token'),
  taking: addressFilter('Only orders that want this token'),
  status: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(openStatuses)).min(1))
    .optional()
    .meta({
      type: 'array',
      items: { type: 'string', enum: openStatuses },
      description: 'Only orders of these statuses. Without it: all',
      examples: [['ACTIVE']],
      param: list,
    }),
});

/** The query of GET …/account. */
export const accountQuery = listQuery.pick({ issuedAt: true, salt: true, maker: true }).extend({
  signature: signatureInput.meta({
    description: 'Over `GetAccountRequest`, in the domain that has `salt`',
    examples: [examples.accountQuery.signature],
  }),
});

/** The query of GET …/{orderHash}. */
export const orderQuery = listQuery.pick({ issuedAt: true, salt: true, maker: true }).extend({
  signature: signatureInput.meta({
    description: 'Over `GetLimitOrderRequest`, in the domain that has `salt`',
    examples: [examples.orderQuery.signature],
  }),
  at: z
    .string()
    .regex(/^[0-9]{1,15}(:[0-9]{1,18})?$/, { error: 'must be a block, or <partition>:<offset>' })
    .optional()
    .meta({
      description:
        'Report on the order up to the end of this block, or up to the fact at this `position`. Without it: up to now. It is not signed',
    }),
});

/** Matches `<partition>:<name of the log>:<offset>`, then an optional place among the entries of the fact. */
const CURSOR = /^[0-9]{1,4}:(-|[0-9a-f]{8}):[0-9]{1,15}(:0x[0-9a-f]{64}:[0-9]:-?[0-9]{1,15}:-?[0-9]{1,9})?$/;
/** The most entries of one page of a history. */
export const HISTORY_PAGE_MAX = 100;

/** The query of GET …/history. */
export const historyQuery = listQuery.pick({ issuedAt: true, salt: true, maker: true }).extend({
  signature: signatureInput.meta({
    description: 'Over `GetLimitOrderHistoryRequest`, in the domain that has `salt`. It covers no other parameter',
    examples: [examples.historyQuery.signature],
  }),
  happened: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(happenings)).min(1))
    .optional()
    .meta({
      type: 'array',
      items: { type: 'string', enum: happenings },
      description: 'Only entries of these kinds. Without it: all',
      examples: [['FILLED', 'REMOVED']],
      param: list,
    }),
  orderSalt: quantityInput.optional().meta({
    description:
      'Only entries of orders with this `salt`, a number: the id that the maker gave them. Only the newest thousand such orders count',
  }),
  fromMs: timeText('milliseconds', 'Begin with the first fact that was logged then or later: milliseconds since 1970'),
  toMs: timeText('milliseconds', 'End before the first fact that was logged then or later'),
  limit: digits(/^[1-9][0-9]{0,2}$/, `must be a whole number from 1 to ${HISTORY_PAGE_MAX}`)
    .transform(Number)
    .refine((value) => value <= HISTORY_PAGE_MAX, { error: `must be at most ${HISTORY_PAGE_MAX}` })
    .optional()
    .meta({
      description: `The most entries of the page. Without it: ${HISTORY_PAGE_MAX}`,
      minimum: 1,
      maximum: HISTORY_PAGE_MAX,
    }),
  cursor: z
    .string()
    .regex(CURSOR, { error: 'must be the nextCursor of the page before: leave it out to start over' })
    .optional()
    .meta({ description: 'The `nextCursor` of the page before. `fromMs` has no effect with it' }),
});

/** The query of GET …/stream. */
export const streamQuery = historyQuery.pick({ issuedAt: true, salt: true, maker: true, cursor: true }).extend({
  signature: signatureInput.meta({
    description: 'Over `StreamLimitOrdersRequest`, in the domain that has `salt`',
    examples: [examples.streamQuery.signature],
  }),
});

const eventId = z
  .string()
  .regex(CURSOR, { error: 'must be the id of an event of this stream: leave it out to begin with a snapshot' })
  .optional();

/** The headers of GET …/stream that mean something. */
export const streamHeaders = z.object({
  'Last-Event-ID': eventId.meta({
    description: 'The id of the last event that you received: the stream continues after it. `cursor` overrides it',
  }),
});

/** The path of GET …/{orderHash}. */
export const orderParams = z.object({
  orderHash: orderHashInput.meta({
    description: 'The hash of the order',
    examples: [examples.reported.orderHash],
  }),
});

/** The headers of GET that mean something. */
export const listHeaders = z.object({
  'If-None-Match': z
    .string()
    .optional()
    .meta({ description: 'The `ETag` of a list: the answer is 304 if the list is the same' }),
});

/** The query of DELETE. */
export const cancelQuery = z.object({
  orderHashes: z
    .array(orderHashInput)
    .min(1, { error: 'must hold at least one hash' })
    .meta({ description: 'The orders to cancel', examples: [examples.cancelQuery.orderHashes], param: list }),
  signatures: z
    .array(signatureInput)
    .min(1, { error: 'must hold at least one signature' })
    .meta({
      description: 'The n-th belongs to the n-th hash: over `OrderCancellationRequest`',
      examples: [examples.cancelQuery.signatures],
      param: list,
    }),
  salt: quantityInput.optional().meta({
    description: "The salt of the signed domain, for all hashes. Without it: each order's own",
    examples: [examples.placements[0]?.order.salt],
  }),
  expiresAt: quantityInput.optional().meta({
    description:
      'The `expiresAt` of the orders, in hex, for all hashes. If the service does not know an order, it remembers the cancellation until then. Without it: for good',
    examples: [examples.placements[0]?.order.expiresAt],
  }),
});

/** The query of POST …/cancellations. */
export const cancellationsQuery = cancelQuery.pick({ salt: true, expiresAt: true });

/** The greatest `wait` that is taken. A greater one must be in milliseconds. */
const WAIT_SECONDS_MAX = 60;
/** The value of each `wait` among preferences, without quotes; empty if it has none. */
const waitsIn = (prefer: string) =>
  [...prefer.matchAll(/(?:^|,)\s*wait\s*(?:=\s*"?([^",;]*))?/gi)].map(([, value = '']) => value.trim());
const prefer = z
  .custom<string>(
    (text) =>
      typeof text === 'string' &&
      waitsIn(text).every((wait) => /^[0-9]{1,9}$/.test(wait) && Number(wait) <= WAIT_SECONDS_MAX),
    { error: `must have a whole number of seconds as \`wait\`, from 0 to ${WAIT_SECONDS_MAX}` },
  )
  .optional()
  .meta({
    type: 'string',
    'x-preferences': { wait: { type: 'integer', minimum: 0, maximum: WAIT_SECONDS_MAX, 'x-unit': 'seconds' } },
  });

/** Headers that mean something to requests that cancel. */
export const cancelHeaders = z.object({
  Prefer: prefer.meta({
    description:
      "`wait=N` (RFC 7240): answer when the orders are out of the router's feed, or after N seconds, at most `cancelWaitSeconds`. `wait=N; by=router`: when the routers that the operator has registered have acknowledged it. `receipt`: answer with a receipt",
    examples: ['wait=2, receipt', 'wait=2; by=router'],
  }),
});

/** Headers that mean something to the other requests that store something. */
export const receiptHeaders = z.object({
  Prefer: prefer.meta({ description: '`receipt` (RFC 7240): answer with a receipt', examples: ['receipt'] }),
});

/** The headers of POST that mean something. */
export const placeHeaders = receiptHeaders.extend({
  'Valid-Until': timeText(
    'seconds',
    'Unix seconds. Orders that are judged later are not stored: `valid_until_passed`. Without it: no bound',
    [examples.listQuery.issuedAt],
  ),
  'Valid-Until-Ms': timeText('milliseconds', 'The same in milliseconds. If both are given, the earlier one counts'),
});
