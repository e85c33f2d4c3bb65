import type { Hex } from '@makerbook/contracts-primitives';
import { z } from 'zod';
import { examples } from './examples.js';
import { fillFields } from './order-report.js';
import { addressInput, orderRecord, sentAddress } from './orders.js';
import { addressFilter, list } from './parameters.js';
import { amountInput } from './quotes.js';

/** The most levels of one ladder, and the most orders of one quote. */
export const LEVELS_MAX = 200;
export const QUOTED_ORDERS_MAX = 200;
/** Fills of one page: by default, and at most. */
export const FILLS_PAGE = 100;
export const FILLS_PAGE_MAX = 1000;
/** The most pairs whose levels one request may ask for. */
export const PAIRS_MAX = 50;

const token = (description: string, example: string) =>
  addressInput
    .meta({ examples: [example] })
    .transform((address) => address.toLowerCase() as Hex)
    .meta({ description });
const amount = (description: string, token = 'the token') =>
  amountInput
    .transform(BigInt)
    .optional()
    .meta({ type: 'string', description: `${description}. In the smallest unit of ${token}: hex, or decimal digits` });
const number = (pattern: RegExp, maximum: number, minimum: number, description: string) =>
  z
    .custom<string>((text) => typeof text === 'string' && pattern.test(text) && Number(text) <= maximum, {
      error: `must be a whole number from ${minimum} to ${maximum}`,
    })
    .transform(Number)
    .optional()
    .meta({ type: 'integer', description, minimum, maximum });
const cursorOf = (error: string) =>
  z
    .string()
    .regex(/^(-|[0-9]{1,15}:[0-9]{1,9})(,(-|[0-9]{1,15}:[0-9]{1,9})){0,1023}:(-|[0-9a-f]{8})$/, { error })
    .optional();

/** The query of GET …/book/stream. */
export const bookStreamQuery = z.object({
  after: cursorOf('must be the cursor of a snapshot, or the id of an event').meta({
    description: 'The `cursor` of a snapshot, or the id of an event: the stream has what came after it',
    examples: [examples.bookCursor],
  }),
});

/** The query of GET …/book/fills. */
export const fillsQuery = z.object({
  making: addressFilter('Only fills of orders that sell this token'),
  taking: addressFilter('Only fills of orders that want this token'),
  maker: addressFilter("Only fills of this maker's orders"),
  limit: number(/^[1-9][0-9]{0,3}$/, FILLS_PAGE_MAX, 1, `The most fills of the page. Without it: ${FILLS_PAGE}`),
  cursor: z
    .string()
    .regex(/^[0-9]{1,9}:[0-9]{1,5}$/, {
      error: 'must be the nextCursor of the page before: leave it out to start over',
    })
    .optional()
    .meta({ description: 'The `nextCursor` of the page before', examples: [examples.bookFills.nextCursor] }),
});

/** The query of GET …/book/fills/stream. */
export const fillStreamQuery = z.object({
  after: cursorOf('must be the streamCursor of a page, or the id of an event').meta({
    description:
      'The `streamCursor` of a page, or the id of an event: the stream has what came after it. Without it: what comes from now on',
    examples: [examples.bookCursor],
  }),
});

/** The headers of GET …/book/stream and …/book/fills/stream that mean something. */
export const bookStreamHeaders = z.object({
  'Last-Event-ID': cursorOf('must be the id of an event: leave it out and name a cursor as `after`').meta({
    description: 'The id of the last event that you received. It overrides `after`, because browsers send both',
  }),
});

/** The path of GET …/book/{making}-{taking}. */
export const ladderParams = z.object({
  making: token('The token that the orders sell, and the taker gets', examples.ladder.tokenOut),
  taking: token('The token that the taker pays', examples.ladder.tokenIn),
});

/** The query of GET …/book/{making}-{taking}. */
export const ladderQuery = z.object({
  limit: number(/^[1-9][0-9]{0,2}$/, LEVELS_MAX, 1, 'The most levels of the answer. Without it: 20'),
});

const PAIR = /^0x[0-9a-fA-F]{40}-0x[0-9a-fA-F]{40}$/;

/** The query of GET …/book/pairs. */
export const pairsQuery = z.object({
  pairs: z
    .string()
    .transform((text) => text.toLowerCase().split(','))
    .pipe(
      z
        .array(z.string().regex(PAIR, { error: 'must be `<making>-<taking>`' }))
        .min(1)
        .max(PAIRS_MAX),
    )
    .optional()
    .meta({
      type: 'array',
      items: { type: 'string', pattern: PAIR.source },
      maxItems: PAIRS_MAX,
      description:
        'Only these pairs, each as in the path of its ladder, and with its levels. Without it: all that are traded',
      examples: [[`${examples.ladder.tokenOut}-${examples.ladder.tokenIn}`]],
      param: list,
    }),
  limit: number(/^[1-9][0-9]{0,2}$/, LEVELS_MAX, 1, 'The most levels of each of `pairs`. Without it: 20'),
});

/** The query of GET …/book/quote. It must name one of the two amounts. */
export const bookQuoteQuery = z.object({
  tokenIn: token('The token that the taker pays', examples.ladder.tokenIn),
  tokenOut: token('The token that the taker gets', examples.ladder.tokenOut),
  amountIn: amount('The most that the taker pays. Name it or `amountOut`'),
  amountOut: amount('What the taker wants. Name it or `amountIn`'),
  backups: number(
    /^[0-9]{1,3}$/,
    300,
    0,
    'For how many percent of the amount the quote has spare orders, to try if a fill fails. Without it: none',
  ),
  limit: amount(
    'The worst that the transaction accepts: the least amountOut, or the most amountIn if the request names `amountOut`. Without it: the amounts of the quote',
  ),
  amountOutPerMillionGas: amount(
    'What a million gas costs. The answer passes over orders that give less than their gas costs, does not spend the rest of `amountIn` on such a fill, and has `netAmountOut`. Without it the answer passes over orders that give less than a thousandth of the quote, if the others are enough',
    'tokenOut',
  ),
});

const decimal = z.string().regex(/^[0-9]+$/);
const count = z.int().nonnegative();
const sentPair = {
  tokenIn: sentAddress.describe('The token that the taker pays'),
  tokenOut: sentAddress.describe('The token that the taker gets'),
};
const price = z
  .object({ numerator: decimal.describe('How much of tokenIn'), denominator: decimal.describe('How much of tokenOut') })
  .meta({ id: 'Price', description: 'What is paid divided by what is got, as a fraction in lowest terms' });
const held = {
  block: z
    .object({
      number: count.describe('Its number'),
      hash: z.string().describe('Its hash'),
      timestamp: count.describe('Unix seconds'),
    })
    .nullable()
    .describe(
      'The block that the answer holds for: every partition that it uses is complete up to this block; null without one',
    ),
  ageSeconds: z.number().nullable().describe('How old the block was when the service answered; null without one'),
};

const level = z
  .object({
    price,
    amountIn: decimal.describe('What filling all of it costs'),
    amountOut: decimal.describe('What filling all of it gives, within the funds of the makers'),
    orders: count.describe('Its orders'),
    gas: count.describe('Gas of its fills'),
  })
  .meta({ id: 'Level', description: 'All that can be filled at one price' });

/** The answer to GET …/book/pairs. */
export const bookPairs = z
  .object({
    ...held,
    pairs: z
      .array(
        z
          .object({
            ...sentPair,
            orders: count.describe('`ACTIVE` orders'),
            best: level.nullable().describe('The best level; null if nothing can be filled'),
            levels: z.array(level).optional().describe('The best first; there if the request names `pairs`'),
          })
          .meta({ id: 'TradedPair' }),
      )
      .describe('Each direction of a pair is an item of its own'),
  })
  .meta({ id: 'BookPairs' });

/** The answer to GET …/book/{making}-{taking}. */
export const bookLadder = z
  .object({ ...sentPair, ...held, levels: z.array(level).describe('The best first') })
  .meta({ id: 'Ladder' });

const fill = z
  .object({
    ...orderRecord,
    makingAmount: decimal.describe('What is filled of tokenOut'),
    takingAmount: decimal.describe('What it costs of tokenIn, rounded up as the contract does'),
    executable: decimal.describe('What can be filled of the order in all'),
  })
  .meta({ id: 'QuotedFill' });

/** The answer to GET …/book/quote. */
export const bookQuote = z
  .object({
    ...sentPair,
    ...held,
    amountIn: decimal.describe('What all fills cost. Less than was asked if the orders end, or if less buys nothing'),
    amountOut: decimal.describe('What all fills give. Less than was asked if the orders end'),
    gas: count.describe(
      'The gas limit of the whole transaction, also if it tries every spare order, for tokens like those of OpenZeppelin; 0 without fills',
    ),
    gasUsed: count.describe(
      'About how much gas the transaction uses if every fill works, for tokens like those of OpenZeppelin; 0 without fills',
    ),
    netAmountOut: z
      .string()
      .regex(/^-?[0-9]+$/)
      .optional()
      .describe(
        '`amountOut` less the price of `gasUsed`, below zero if that is more; there if the request has `amountOutPerMillionGas`',
      ),
    passedOver: count.describe(
      'How many orders of a better price are not filled, because they give too little (`amountOutPerMillionGas`) or no transaction fills so many',
    ),
    fills: z.array(fill).describe('The orders to fill, the best first'),
    spares: z.array(fill).describe('The next best, to try if a fill fails'),
    to: sentAddress
      .optional()
      .describe('The `OrderFiller` to send the transaction to; there if the operator has named one'),
    data: z
      .string()
      .regex(/^0x[0-9a-f]+$/)
      .optional()
      .describe('The call of `fill` of an `OrderFiller`; there if something can be filled'),
    allowanceTarget: sentAddress
      .optional()
      .describe(
        'Approve it for tokenIn first: for the `amountIn` of the request, or else for `limit` (without it: for `amountIn` of the quote). The transaction takes all of that, and returns the rest. There if `to` is',
      ),
  })
  .meta({ id: 'BookQuote' });

/** A fill, as pages and the stream have it. */
export const bookFill = z
  .object({
    orderHash: orderRecord.orderHash,
    maker: sentAddress.describe('Whose order it is'),
    ...fillFields,
    price,
  })
  .meta({
    id: 'BookFill',
    description:
      'A fill as the contract logs it (`OrderFilled`), whether its order is open, has ended or was posted later. Each is there once. A token is missing if it logs no `Transfer` and the order was not open',
  });

/** The answer to GET …/book/fills. */
export const bookFills = z
  .object({
    fills: z.array(bookFill).describe('The newest first, by block and place in it'),
    nextCursor: z.string().nullable().describe('The `cursor` of the next page; null if no older fills are kept'),
    streamCursor: z.string().describe('Where the stream continues: it has what comes after this page'),
  })
  .meta({ id: 'BookFills' });

/** The last line of the snapshot. */
export const bookSnapshotEnd = z.object({
  cursor: z.string().describe('Where the stream continues'),
  partitions: z.array(
    z.object({
      partition: count,
      position: z
        .object({ partition: count, offset: z.string() })
        .nullable()
        .describe('The fact in the log that led to its last record; null before the first'),
      entries: count.describe('How many orders it holds'),
      hash: z.string().describe('The hash over them, as a clock has it'),
    }),
  ),
});

export type BookSnapshotEnd = z.infer<typeof bookSnapshotEnd>;
export type BookFill = z.infer<typeof bookFill>;
export type BookFills = z.infer<typeof bookFills>;
export type BookPairs = z.infer<typeof bookPairs>;
export type BookLadder = z.infer<typeof bookLadder>;
export type BookQuote = z.infer<typeof bookQuote>;
