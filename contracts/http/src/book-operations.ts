import { z } from 'zod';
import {
  bookFills,
  bookLadder,
  bookPairs,
  bookQuote,
  bookQuoteQuery,
  bookStreamHeaders,
  bookStreamQuery,
  fillStreamQuery,
  fillsQuery,
  ladderParams,
  ladderQuery,
  pairsQuery,
} from './book.js';
import { examples } from './examples.js';
import type { ErrorCases, Operation } from './operation.js';
import { paths } from './paths.js';

const none = z.object({});
const unknownParameter = {
  cause: 'A parameter is missing, given twice, unknown or malformed.',
  remedy: 'Fix the places that `errors` names.',
};

const errors = {
  unauthorized: {
    cause: 'Only readers that the operator has named may read the book, and the request has no key of one.',
    remedy: 'Send `Authorization: Bearer` and your key. Ask the operator for one.',
  },
  invalid_request: unknownParameter,
  rate_limited: {
    cause: 'The client address has spent its limit of requests, or the reader its budget.',
    remedy: 'Wait for `Retry-After` seconds.',
  },
  unavailable: {
    cause: 'The process is still reading the book, is stopping or is overloaded.',
    remedy: 'Send the request again: another process may answer it.',
  },
  internal: {
    cause: 'The service has a fault.',
    remedy: 'Send the request again. If it fails again, tell the operator the `requestId`.',
  },
} as const satisfies ErrorCases;

const lasting = {
  rate_limited: {
    cause: 'The client address has spent its limit of requests, or the reader its budget or its streams.',
    remedy: 'Wait for `Retry-After` seconds, or end a stream.',
  },
  unavailable: {
    cause: 'The process is still reading the book, is stopping, or has as many streams or snapshots as it may have.',
    remedy: 'Send the request again: another process may answer it.',
  },
} as const satisfies ErrorCases;

const base = { method: 'GET', section: '4.17', tag: 'Book' } as const;

const readSnapshot: Operation = {
  ...base,
  path: paths.bookSnapshot,
  summary: 'Read the whole book, record by record',
  description:
    'It answers a line of JSON for each record of `limit-orders.book.v1` as it is now: orders of any status, and clocks, in the order of each partition. The last line has `cursor`, where the stream continues, and for each partition its position, the number of its orders and the hash over them. Without that line the answer was cut: start over.',
  query: none,
  answer: {
    type: 'application/x-ndjson',
    schema: z.string(),
    example: examples.bookSnapshot,
    description: 'Lines of JSON',
  },
  errors: { ...errors, ...lasting },
};

const streamBook: Operation = {
  ...base,
  path: paths.bookStream,
  summary: 'Follow the book',
  description:
    'Server-sent events: `entry`, `removed` and `clock`, with the same records as in the snapshot. The id of an event is a cursor: name the last one as `Last-Event-ID` or `after`, and the stream continues at any process without a gap or a repeat. Before the service ends a stream it sends `end` with a reason.',
  query: bookStreamQuery,
  headers: bookStreamHeaders,
  answer: { type: 'text/event-stream', schema: z.string(), example: examples.bookStream, description: 'Events' },
  errors: {
    ...errors,
    invalid_request: {
      cause:
        'There is no cursor, or it is malformed, of an earlier version or of another number of partitions; or a parameter is unknown.',
      remedy: 'Take a snapshot, and name its `cursor` as `after`.',
    },
    gone: {
      cause: 'What came after the cursor is not kept any more, or the cursor is of another log.',
      remedy: 'Drop the book and take a snapshot.',
    },
    ...lasting,
  },
};

const listPairs: Operation = {
  ...base,
  path: paths.bookPairs,
  summary: 'List traded pairs, each with its best price',
  description:
    'The answer is computed again every second. With `pairs` it is computed for the request: the ladders of these pairs in one call, all at one moment. Each pair counts as a request.',
  query: pairsQuery,
  answer: {
    type: 'application/json',
    schema: bookPairs,
    example: examples.pairs,
    description: 'Each direction of a pair is an item of its own',
  },
  errors,
};

const showLadder: Operation = {
  ...base,
  path: paths.bookLadder,
  summary: 'Read the price levels of a pair',
  description: 'It shows what can be filled now, within the funds of the makers, the best price first.',
  params: ladderParams,
  query: ladderQuery,
  answer: { type: 'application/json', schema: bookLadder, example: examples.ladder, description: 'The ladder' },
  errors,
};

const quoteAmount: Operation = {
  ...base,
  path: paths.bookQuote,
  summary: 'Quote what an amount buys or costs, with the orders to fill',
  description:
    'The amounts are to the wei what the contract moves, for one block and at most 200 orders. Approve `allowanceTarget`, and send `data` to `to` with `gas`: nothing else is needed.',
  query: bookQuoteQuery,
  answer: {
    type: 'application/json',
    schema: bookQuote,
    example: examples.bookQuote,
    description: 'The quote. Compare its amounts with yours',
  },
  errors: {
    ...errors,
    invalid_request: {
      cause:
        'The request names both amounts or neither, the amount is zero, both tokens are the same, the orders do not meet `limit`, a sum is beyond uint256, or a parameter is missing, unknown or malformed.',
      remedy: 'Fix the places that `errors` names. If it is `limit`, accept less or ask for less.',
    },
  },
};

const listFills: Operation = {
  ...base,
  path: paths.bookFills,
  summary: 'List the newest fills of all makers',
  description:
    'Fills of makers that the service knows are listed, newest first. A process keeps the newest 20,000 of the last 30 days.',
  query: fillsQuery,
  answer: { type: 'application/json', schema: bookFills, example: examples.bookFills, description: 'A page' },
  errors,
};

const streamFills: Operation = {
  ...base,
  path: paths.bookFillStream,
  summary: 'Follow the fills of all makers',
  description:
    'Server-sent events `fill`, each fill as a page has it, once. Fills of a maker come in the order of the chain. The id of an event is a cursor: name the last one as `Last-Event-ID` or `after`, and the stream continues at any process without a gap or a repeat. Before the service ends a stream it sends `end` with a reason.',
  query: fillStreamQuery,
  headers: bookStreamHeaders,
  answer: { type: 'text/event-stream', schema: z.string(), example: examples.fillStream, description: 'Events' },
  errors: {
    ...errors,
    invalid_request: {
      cause: 'The cursor is malformed, or of another number of partitions; or a parameter is unknown.',
      remedy: 'Read a page, and name its `streamCursor` as `after`.',
    },
    gone: {
      cause: 'What came after the cursor is not kept any more, or the cursor is of another log.',
      remedy: 'Read pages back to the last fill that you have, and name the `streamCursor` of the first as `after`.',
    },
    ...lasting,
  },
};

/** The operations by which routers and others read the book over HTTP. */
export const bookOperations = { readSnapshot, streamBook, listFills, streamFills, listPairs, showLadder, quoteAmount };
