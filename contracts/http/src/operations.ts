import { z } from 'zod';
import { account } from './account.js';
import { bookOperations } from './book-operations.js';
import { examples } from './examples.js';
import {
  cancelAllInput,
  cancelKeysAnswer,
  cancelKeysInput,
  cancelledAll,
  fillCapAnswer,
  fillCapInput,
  heartbeatAnswer,
  heartbeatInput,
} from './exits.js';
import { info } from './info.js';
import type { Content, ErrorCases, Method, Operation } from './operation.js';
import { orderHistory, orderReport } from './order-report.js';
import {
  cancellationBody,
  cancellations,
  limitOrderRecords,
  placementInputs,
  replacement,
  replacementInput,
  validatingRecords,
} from './orders.js';
import {
  accountQuery,
  cancelHeaders,
  cancellationsQuery,
  cancelQuery,
  historyQuery,
  listHeaders,
  orderParams,
  orderQuery,
  ordersQuery,
  placeHeaders,
  receiptHeaders,
  streamHeaders,
  streamQuery,
} from './parameters.js';
import { paths } from './paths.js';
import { quotePatchAnswer, quotePatchInput } from './quotes.js';

const header = (name: string, schema: z.ZodType, description: string) =>
  schema.meta({ description, header: { id: name } });

/** Headers that every answer has, or may have. */
export const answerHeaders = z.object({
  'X-Request-Id': header('X-Request-Id', z.string(), 'The id of the request if it is well-formed, else a new one'),
  'X-Server-Time': header(
    'X-Server-Time',
    z
      .string()
      .regex(/^[0-9]+$/)
      .optional(),
    "The service's clock when it answered, in milliseconds since 1970",
  ),
  'Server-Timing': header(
    'Server-Timing',
    z.string().optional(),
    '`app;dur=` and the milliseconds from the arrival of the request at the service to its answer',
  ),
  'RateLimit-Policy': header('RateLimit-Policy', z.string().optional(), 'The limits that apply (IETF draft)'),
  RateLimit: header('RateLimit', z.string().optional(), 'What is left of these limits (IETF draft)'),
});

/** Headers of answers that a client may keep. */
export const cacheHeaders = z.object({
  'Cache-Control': header('Cache-Control', z.string().optional(), 'Who may keep the answer, and for how long'),
  ETag: header('ETag', z.string().optional(), 'Names this state: send it in `If-None-Match`'),
});

/** A header of answers with a retryable code. */
export const retryHeaders = z.object({
  'Retry-After': header('Retry-After', z.int().positive().optional(), 'Seconds until the request can succeed'),
});

/** Headers of answers that have stored something. */
const storedHeaders = z.object({
  'X-Log-Position': header(
    'X-Log-Position',
    z
      .string()
      .regex(/^[0-9]+:[0-9]+(, [0-9]+:[0-9]+)*$/)
      .optional(),
    'Where in the log the last fact of the request is: `<partition>:<offset>`, one for each partition of its makers',
  ),
  'X-Receipt': header(
    'X-Receipt',
    z
      .string()
      .regex(/^0x[0-9a-f]{130}$/)
      .optional(),
    'The signature of the service over `Receipt`, by one of `receiptSigners`; there if the request prefers a receipt and the service gives them',
  ),
  'X-Unseen-By': header(
    'X-Unseen-By',
    z.string().optional(),
    'The routers that have not acknowledged what the request cancelled; there if the request preferred to wait for routers',
  ),
  'Preference-Applied': header(
    'Preference-Applied',
    z
      .string()
      .regex(/^(wait=[0-9]+(; by=router)?(, receipt)?|receipt)$/)
      .optional(),
    "`wait=N`: the request waited, and the orders are out of the router's feed. `wait=N; by=router`: all registered routers have acknowledged it. `receipt`: the answer has a receipt",
  ),
});

/** Errors that come before the service knows which operation is meant. They can answer any request. */
export const errorsOfAnyRequest = {
  invalid_request: { cause: 'The request is not well-formed HTTP.', remedy: 'Fix the HTTP client.' },
  request_timeout: {
    cause: 'Only a part of the request arrived within 10 s.',
    remedy: 'Send it again, whole.',
  },
  payload_too_large: {
    cause:
      'Request line and headers are larger than `headerBytesMax`, one header is larger than 8 KiB, or there are more than 100 headers.',
    remedy: 'Leave out headers. Cancel fewer orders at once, or use POST …/cancellations.',
  },
  rate_limited: {
    cause: 'The client address has too many connections open.',
    remedy: 'Use the connections that are open (keep-alive).',
  },
  unsupported_media_type: {
    cause: 'The request needs no body, and has a compressed one.',
    remedy: 'Leave out the body and `Content-Encoding`.',
  },
  not_found: { cause: 'There is nothing at this path.', remedy: 'Fix the path.' },
  method_not_allowed: {
    cause: 'The path does not have this method.',
    remedy: 'Use one of the methods that the header `Allow` names.',
  },
} as const satisfies ErrorCases;

const internal = {
  cause: 'The service has a fault.',
  remedy: 'Send the request again; sign a GET again first. If it fails again, tell the operator the `requestId`.',
};
const unasked = 'a contract wallet cannot be checked';
const stopped = 'the service is stopping or overloaded';
const signAnew = 'Sign the request again, and send it.';
const wait = 'Wait for `Retry-After` seconds.';
const clientLimited = { cause: 'The client address has spent its limit of requests.', remedy: wait };
const makerLimited = {
  cause: 'The client address has spent its limit of requests, or the maker its budget. Nothing was done.',
  remedy: wait,
};
const notTheMaker = {
  cause:
    "A signature does not recover to the order's maker, or has high `s` or another form; and no contract at the maker's address accepts it.",
  remedy:
    'Compare domain, types, salt and values with what you signed: `detail` names the address that it recovers to.',
};
const whitelist = 'Ask the operator to put the maker on the whitelist.';
const bodyErrors = {
  unsupported_media_type: {
    cause: 'The body is compressed, or is not `application/json`.',
    remedy: 'Send plain JSON with that `Content-Type`, and no `Content-Encoding`.',
  },
  payload_too_large: {
    cause: 'The body is larger than `bodyBytesMax`.',
    remedy: 'Split the request.',
  },
} as const;

const place: Operation = {
  method: 'POST',
  path: paths.limitOrders,
  section: '4.3',
  tag: 'Limit orders',
  summary: 'Place signed orders, all or none',
  description:
    '200 means that every order is stored and cannot be lost. If an order is refused, `index` names it, and nothing is stored. After 500 or 503 the outcome is unknown. Orders begin as `VALIDATING`.',
  headers: placeHeaders,
  body: { type: 'application/json', schema: placementInputs, example: examples.placements },
  answer: {
    type: 'application/json',
    schema: validatingRecords,
    example: examples.placed,
    description: 'The stored orders, in the order of the request',
    headers: storedHeaders,
  },
  errors: {
    ...bodyErrors,
    invalid_request: {
      cause:
        'The body is no JSON array, a field is missing, unknown or malformed, `Valid-Until` is no number, an amount is zero, both tokens are the same, or the taking token is the native coin (the zero address, 0xeeee…eeee).',
      remedy: 'Fix the places that `errors` names.',
    },
    too_many_orders: {
      cause:
        "The request has more orders than `ordersPerPost` or than the maker's full budget, or the maker would have more than `openOrdersPerMaker` open orders or `rememberedHashesPerMaker` remembered hashes.",
      remedy:
        'Split the request, or cancel orders first. For fewer remembered hashes: use shorter expiries, or raise the nonce (`cancelAllOrders`).',
    },
    unsupported_permitted_taker: {
      cause: '`permittedTaker` is not the zero address.',
      remedy: 'Sign the order with the zero address.',
    },
    valid_until_passed: {
      cause: '`Valid-Until` had passed when the orders were judged, and none of them is known.',
      remedy:
        'This request stored nothing. An earlier try may have stored the orders: ask GET …/{orderHash}. Price again.',
    },
    maker_not_whitelisted: { cause: 'The maker is not on the whitelist, or is suspended.', remedy: whitelist },
    invalid_signature: notTheMaker,
    rate_limited: makerLimited,
    order_expired: {
      cause: '`expiresAt` is not in the future.',
      remedy: 'Sign the order with a later `expiresAt`.',
    },
    order_cancelled: {
      cause:
        "The nonce is below the maker's on the chain, or the order was cancelled while its request was on its way.",
      remedy: 'Sign with the current nonce. Post again the orders that you still want.',
    },
    duplicate: {
      cause: 'The hash is twice in the request, was accepted before, or was cancelled.',
      remedy:
        'If an earlier try had an unknown outcome, it stored the order: ask GET …/{orderHash}. Else sign with another salt.',
    },
    unavailable: {
      cause: `A part of the service is down, the log did not confirm the orders, makers may only cancel for now, the maker is in quarantine, or ${stopped}.`,
      remedy:
        'Send the same request again. 200 or `duplicate`: it is stored. After any other refusal the first try may still be stored: ask GET …/{orderHash}, or cancel the orders.',
    },
    internal,
  },
};

/** A header of the answers to a maker's signed reads. */
const lagHeaders = z.object({
  'X-Read-Lag': header(
    'X-Read-Lag',
    z
      .string()
      .regex(/^([1-9][0-9]*|unknown)$/)
      .optional(),
    "How many of the maker's own POSTs and DELETEs the answer does not show yet, or `unknown` if the service cannot tell; left out if it shows all. A DELETE that was answered during an outage of the database may not be counted",
  ),
});

const invalidParameter = {
  cause: 'A parameter is missing, given twice, unknown or malformed.',
  remedy: 'Fix the places that `errors` names.',
};
const invalidCursor = {
  ...invalidParameter,
  cause: `${invalidParameter.cause} Or the cursor is of another maker or of an earlier version.`,
};
const ofAnotherLog = {
  cause: 'The cursor is of another log: of another deployment, or from before the log was created again.',
  remedy: 'Begin without a cursor.',
};
const goneCursor = {
  cause: 'The history after the cursor is not kept any more, or the cursor is of another log.',
  remedy: 'Begin without a cursor: you get what is kept, or a snapshot. The operator has the log.',
};
/** Errors of the requests whose signer is the maker. */
const signedReadErrors: ErrorCases = {
  request_expired: {
    cause: '`issuedAt` is more than `requestTtlSeconds` ago, or more than `clockSkewSeconds` ahead.',
    remedy: 'Sign again; take 1 or 2 seconds off a clock that is ahead.',
  },
  invalid_signature: {
    cause:
      'No address recovers from the signature, or it has high `s` or another form. Or the request names a `maker`: neither it nor a key that may read this for it has signed, and no contract at its address accepts the signature.',
    remedy: 'Sign as section 5 of the interface describes.',
  },
  maker_not_whitelisted: {
    cause: 'The recovered signer, or the `maker` that the request names, was never on the whitelist.',
    remedy: `If \`detail\` names another address than the maker's, you signed something else. ${whitelist}`,
  },
  request_replayed: {
    cause: 'The signer has used this salt already.',
    remedy: 'Sign each request with a fresh random salt.',
  },
};

const list: Operation = {
  method: 'GET',
  path: paths.limitOrders,
  section: '4.2',
  tag: 'Limit orders',
  summary: "List the signer's open orders",
  description:
    'The signer is the maker, unless `maker` names one. The list shows every POST and DELETE of the maker that was answered before: the service waits at most a second until its read model has them. Cancelled, filled and expired orders are not in it. `limit` and `cursor` page through it: a page continues after the last order of the one before, whatever was placed or removed meanwhile. `orderSalt`, `making`, `taking` and `status` filter it.',
  query: ordersQuery,
  headers: listHeaders,
  answer: {
    type: 'application/json',
    schema: limitOrderRecords,
    example: examples.listed,
    description: 'The open orders in the order of their acceptance, oldest first',
    notModified: 'The list is still the one that `If-None-Match` names',
    headers: cacheHeaders
      .extend({
        'X-Next-Cursor': header(
          'X-Next-Cursor',
          z.string().optional(),
          'The `cursor` of the next page; there if the list continues after this one',
        ),
        'X-List-Version': header(
          'X-List-Version',
          z.string().regex(/^[0-9]+$/),
          "Where in the maker's partition of the log the list last changed. A list with a higher version is newer",
        ),
        'X-Cancel-All-At': header(
          'X-Cancel-All-At',
          z
            .string()
            .regex(/^[1-9][0-9]*$/)
            .optional(),
          "When the maker's dead-man's switch cancels all orders, in Unix seconds; there while the switch is set and has not fired",
        ),
      })
      .extend(lagHeaders.shape),
  },
  errors: {
    invalid_request: invalidCursor,
    ...signedReadErrors,
    gone: ofAnotherLog,
    rate_limited: makerLimited,
    unavailable: {
      cause: `The store of orders does not answer, the cursor is ahead of what the service knows, the whitelist is still being read, ${unasked}, or ${stopped}.`,
      remedy: signAnew,
    },
    internal,
  },
};

const findOrder: Operation = {
  method: 'GET',
  path: paths.limitOrder,
  section: '4.8',
  tag: 'Limit orders',
  summary: 'Read what became of one order',
  description:
    "The signer is the maker, unless `maker` names one. It finds every order of the maker that was ever accepted: its status or how it ended, what is left and what was filled, and its timeline. Each entry has its place in the log and its cause. An order that POST has answered is found; while it is in flight, the answer is 503. The request counts against the maker's budget of lists.",
  params: orderParams,
  query: orderQuery,
  answer: {
    type: 'application/json',
    schema: orderReport,
    example: examples.reported,
    description: 'The order and its timeline',
    headers: cacheHeaders.pick({ 'Cache-Control': true }).extend(lagHeaders.shape),
  },
  errors: {
    invalid_request: {
      ...invalidParameter,
      cause: `${invalidParameter.cause} Or \`at\` is in another partition than the maker.`,
    },
    ...signedReadErrors,
    not_found: {
      cause: 'The service knows no order of the signer with this hash, or it was placed after `at`.',
      remedy: 'Compare the hash, and the signer: orders of other makers are not found.',
    },
    gone: {
      cause: 'The order was accepted, and its history is not kept any more. It can still be open.',
      remedy: 'List the open orders, or ask the operator, who has the log.',
    },
    rate_limited: makerLimited,
    unavailable: {
      cause: `The store of orders or the log does not answer, the order is still on its way, \`at\` is ahead of what the service knows, the whitelist is still being read, ${unasked}, or ${stopped}.`,
      remedy: signAnew,
    },
    internal,
  },
};

const readAccount: Operation = {
  method: 'GET',
  path: paths.account,
  section: '4.18',
  tag: 'Limit orders',
  summary: "Read the signer's limits, budgets and standing instructions",
  description:
    "The signer is the maker, unless `maker` names one. The answer has limits, the counts of open orders and remembered hashes, the nonce, the admission, the keys, the switch and the caps, with what is filled of each cap in its window. All is as of one position in the log, and what is left of each budget as of now. It shows what answered requests did, unless `X-Read-Lag` says otherwise. The request counts against the maker's budget of lists.",
  query: accountQuery,
  answer: {
    type: 'application/json',
    schema: account,
    example: examples.account,
    description: 'The maker as the service has it',
    headers: cacheHeaders.pick({ 'Cache-Control': true }).extend(lagHeaders.shape),
  },
  errors: {
    invalid_request: invalidParameter,
    ...signedReadErrors,
    rate_limited: makerLimited,
    unavailable: {
      cause: `The store of orders does not answer, or does not have the maker yet, the whitelist is still being read, ${unasked}, or ${stopped}.`,
      remedy: signAnew,
    },
    internal,
  },
};

const readHistory: Operation = {
  method: 'GET',
  path: paths.history,
  section: '4.9',
  tag: 'Limit orders',
  summary: "Read what happened to the signer's orders",
  description:
    "It has every fill and every change of an order, oldest first, in pages: a maker can keep its books with it. Fills are those that the contract logged, each once, also of orders that are no longer open here. It shows what answered requests did, unless `X-Read-Lag` says otherwise. The request counts against the maker's budget of lists.",
  query: historyQuery,
  answer: {
    type: 'application/json',
    schema: orderHistory,
    example: examples.history,
    description: 'One page',
    headers: cacheHeaders.pick({ 'Cache-Control': true }).extend(lagHeaders.shape),
  },
  errors: {
    invalid_request: invalidCursor,
    ...signedReadErrors,
    gone: goneCursor,
    rate_limited: makerLimited,
    unavailable: {
      cause: `The store of orders or the log does not answer, the cursor is ahead of what the service knows, the whitelist is still being read, ${unasked}, or ${stopped}.`,
      remedy: signAnew,
    },
    internal,
  },
};

const stream: Operation = {
  method: 'GET',
  path: paths.stream,
  section: '4.13',
  tag: 'Limit orders',
  summary: "Follow the signer's orders as they change",
  description:
    "Server-sent events: `snapshot` (the list), then `change` for each entry of the history as it happens, and `clock` every second. With `Last-Event-ID` it continues after that event without a snapshot: no change is lost or repeated, over reconnects and restarts. Before the service ends a stream it sends `end` with a reason. The request counts against the maker's budget of lists.",
  query: streamQuery,
  headers: streamHeaders,
  answer: {
    type: 'text/event-stream',
    schema: z.string(),
    example: examples.stream,
    description: 'Events; section 4.13 of the guide has the data of each',
    headers: cacheHeaders.pick({ 'Cache-Control': true }),
  },
  errors: {
    invalid_request: invalidCursor,
    ...signedReadErrors,
    gone: goneCursor,
    rate_limited: {
      cause:
        'The client address has spent its limit of requests, the maker its budget, or the maker has too many streams open.',
      remedy: 'Wait for `Retry-After` seconds, or end a stream.',
    },
    unavailable: {
      cause: `The store of orders does not answer, the id is ahead of what the service knows, the whitelist is still being read, the process has as many streams as it may have, ${unasked}, or ${stopped}.`,
      remedy: signAnew,
    },
    internal,
  },
};

const cancelDescription =
  'The orders leave the feed of the router and the list for good, off-chain and at no gas. They stay valid on the chain: a taker who has an order and its signature can fill it until it expires, unless you call `cancelOrder` of the contract. A hash that is unknown or gone is `NOT_FOUND` and does not fail the rest. Repeating is harmless.';

const cancelErrors = {
  invalid_request: {
    cause:
      'Hashes or signatures are missing or malformed, their numbers differ, there are more than `cancelsPerDelete`, or a parameter is wrong.',
    remedy: 'Fix the places that `errors` names.',
  },
  invalid_signature: notTheMaker,
  too_many_orders: {
    cause:
      "The request names more unknown orders than the maker's full budget of orders, or than may be remembered (`rememberedHashesPerMaker`). Nothing was cancelled.",
    remedy: 'Cancel fewer at once, and name `expiresAt`; or cancel all open orders with POST …/cancel-all.',
  },
  rate_limited: makerLimited,
  unavailable: {
    cause: `The log did not confirm the request, an order may still be in flight, ${unasked}, or ${stopped}. Some orders may be cancelled.`,
    remedy: 'Send the same request again until it is answered.',
  },
  internal,
} as const satisfies ErrorCases;

const cancel: Operation = {
  method: 'DELETE',
  path: paths.limitOrders,
  section: '4.4',
  tag: 'Limit orders',
  summary: 'Cancel orders by signature',
  description: `${cancelDescription} For many orders use POST …/cancellations: a URL of 100 hashes has 21 kB, which some proxies refuse.`,
  query: cancelQuery,
  headers: cancelHeaders,
  answer: {
    type: 'application/json',
    schema: cancellations,
    example: examples.cancelled,
    description: 'What became of each hash, in the order of the request',
    headers: storedHeaders,
  },
  errors: cancelErrors,
};

const cancelByPost: Operation = {
  ...cancel,
  method: 'POST',
  path: paths.cancellations,
  summary: 'Cancel orders by signature, in a body',
  description: `The same as DELETE, with a body instead of the lists in its query. ${cancelDescription} A body that names \`salts\` cancels all orders of the maker that have one of them and were accepted by \`untilMs\`, open or in flight. The answer names each order.`,
  query: cancellationsQuery,
  body: { type: 'application/json', schema: cancellationBody, example: examples.cancellations },
  errors: {
    ...bodyErrors,
    ...cancelErrors,
    maker_not_whitelisted: { cause: 'The maker of the salts was never on the whitelist.', remedy: whitelist },
  },
};

const replace: Operation = {
  method: 'POST',
  path: paths.replacements,
  section: '4.14',
  tag: 'Limit orders',
  summary: 'Cancel orders and place others instead, all or nothing',
  description:
    'All orders must be of one maker. The cancellations and the new orders are stored together: nobody sees one without the other, and the limit of open orders applies to the result. `cancel` may name salts instead of a list: they stand for all open orders of the maker that have them. Nothing happens if an order to cancel is not open any more, another amount of it is left than the request says, or a new order is refused.',
  headers: placeHeaders.extend(cancelHeaders.shape),
  body: { type: 'application/json', schema: replacementInput, example: examples.replacement },
  answer: {
    type: 'application/json',
    schema: replacement,
    example: examples.replaced,
    description: 'What was cancelled, and the stored orders',
    headers: storedHeaders,
  },
  errors: {
    ...place.errors,
    invalid_request: {
      cause:
        'The body has no `cancel` or no `place`, one of them is not as in POST …/cancellations or POST, or the orders are of several makers.',
      remedy: 'Fix the places that `errors` names.',
    },
    not_found: {
      cause:
        'An order to cancel is not open: it is filled, expired or cancelled. Or the maker has no order with the hash or with a salt.',
      remedy: 'Nothing happened. Ask GET …/{orderHash} what became of the order, and replace what is left.',
    },
    remaining_changed: {
      cause:
        'The service has seen that another amount is left of an order to cancel than `remainingMakingAmount`, or than all of it if the request names none.',
      remedy: 'Nothing happened. Price what is left, and send the `remainingMakingAmount` of the answer.',
    },
  },
};

const exitErrors: ErrorCases = {
  ...bodyErrors,
  invalid_request: {
    cause: 'A field is missing, unknown or malformed, or a time is not allowed.',
    remedy: 'Fix the places that `errors` names.',
  },
  maker_not_whitelisted: { cause: 'The maker was never on the whitelist.', remedy: whitelist },
  invalid_signature: {
    cause:
      "The signer is neither the maker nor a key that may do this, or the signature has high `s` or another form; and no contract at the maker's address accepts it.",
    remedy: 'Compare domain, types and values with what you signed: `detail` names the address that it recovers to.',
  },
  rate_limited: makerLimited,
  unavailable: {
    cause: `The log did not confirm the request, the whitelist is still being read, ${unasked}, or ${stopped}.`,
    remedy:
      'Send the same request again while its times are allowed (a heartbeat until `cancelAt`): repeating is harmless.',
  },
  internal,
};

/** Errors of standing instructions, of which the newest counts. */
const instructionErrors: ErrorCases = {
  ...exitErrors,
  superseded: {
    cause:
      'Another instruction for the same thing was issued later, or at the same time: `counts` has it. Nothing was changed.',
    remedy: 'To make yours count, sign it again, with an `issuedAtMs` after that of `counts`.',
  },
};

const cancelAll: Operation = {
  method: 'POST',
  path: paths.cancelAll,
  section: '4.10',
  tag: 'Limit orders',
  summary: 'Cancel all orders of a maker, of a token or of a pair',
  description:
    'It works like cancelling each order: off-chain, at no gas, for good. It cancels every order that was accepted by `untilMs`, also one whose POST is still in flight, and none that is accepted later. As `untilMs` send the greatest `X-Server-Time` of the answers that you have. It works while the database is down. It costs as much as 100 cancellations.',
  body: { type: 'application/json', schema: cancelAllInput, example: examples.cancelAll },
  answer: {
    type: 'application/json',
    schema: cancelledAll,
    example: examples.cancelledAll,
    description: 'What is cancelled',
    headers: storedHeaders,
  },
  headers: cancelHeaders,
  errors: exitErrors,
};

const beat: Operation = {
  method: 'POST',
  path: paths.heartbeat,
  section: '4.11',
  tag: 'Limit orders',
  summary: "Set the dead-man's switch",
  description:
    'The first block with the time `cancelAt` or a later one cancels the orders of the maker that were accepted by then, unless a newer heartbeat comes first. Send one every few seconds, each some seconds ahead. After the switch has fired, it is off for orders that are accepted later. The header `X-Cancel-All-At` of the list shows it until it has fired.',
  body: { type: 'application/json', schema: heartbeatInput, example: examples.heartbeat },
  answer: {
    type: 'application/json',
    schema: heartbeatAnswer,
    example: examples.heartbeatAnswer,
    description: 'The switch as it is set',
    headers: storedHeaders,
  },
  headers: receiptHeaders,
  errors: instructionErrors,
};

const nameCancelKeys: Operation = {
  method: 'POST',
  path: paths.cancelKeys,
  section: '4.12',
  tag: 'Limit orders',
  summary: 'Name the keys that may cancel for a maker, and those that may read',
  description:
    'A cancel key may sign cancellations, cancel-alls and heartbeats of the maker, and nothing else. A key in `listKeys`, `streamKeys` or `historyKeys` may sign only the GETs of its list, which name the `maker`. A key may be in several lists. A watchdog then needs no key that trades. The newest message counts as a whole: what it leaves out is revoked. A new key counts within a second, and the stream of a revoked key ends within a second. A switch that a revoked key has set stays until the next heartbeat.',
  body: { type: 'application/json', schema: cancelKeysInput, example: examples.cancelKeys },
  answer: {
    type: 'application/json',
    schema: cancelKeysAnswer,
    example: examples.cancelKeysAnswer,
    description: 'The keys as they are set',
    headers: storedHeaders,
  },
  headers: receiptHeaders,
  errors: instructionErrors,
};

const setFillCap: Operation = {
  method: 'POST',
  path: paths.fillCap,
  section: '4.15',
  tag: 'Limit orders',
  summary: 'Cap what is filled of a token within a time',
  description:
    'The first fill of the token begins a window. If more than `amount` is filled within it, all orders of the maker that sell the token leave the feed of the router, also new ones, and come back when the window has passed. They stay listed, with `cappedUntil`. Setting a cap again counts from zero. An amount or a window of 0 removes the cap. A maker may have caps of 100 tokens. Fills exceed a cap by at most what one block fills.',
  body: { type: 'application/json', schema: fillCapInput, example: examples.fillCap },
  answer: {
    type: 'application/json',
    schema: fillCapAnswer,
    example: examples.fillCapAnswer,
    description: 'The cap as it is set',
    headers: storedHeaders,
  },
  headers: receiptHeaders,
  errors: {
    ...instructionErrors,
    invalid_request: {
      cause:
        'A field is missing, unknown or malformed, a time is not allowed, the token is no contract, or 100 other tokens have a cap.',
      remedy: 'Fix the places that `errors` names; remove a cap that is not needed.',
    },
  },
};

const readErrors: ErrorCases = {
  rate_limited: clientLimited,
  unavailable: {
    cause: 'The service is starting, stopping or overloaded.',
    remedy: 'Send the request again.',
  },
  internal,
};

const describeService: Operation = {
  method: 'GET',
  path: paths.info,
  section: '4.6',
  tag: 'Limit orders',
  summary: 'Read what a maker needs to sign and call',
  description: 'It needs no signature. It answers contracts, signing domains, limits, the clock and the newest block.',
  answer: {
    type: 'application/json',
    schema: info,
    example: examples.info,
    description: 'The service as it is configured',
  },
  errors: readErrors,
};

const patchQuote: Operation = {
  method: 'PATCH',
  path: paths.quoteData,
  section: '4.1',
  tag: 'Quotes',
  summary: 'Set the guaranteed minimum output of a signed swap',
  description:
    "It takes the `quote.tx.data` of a quote (v0 or v1), and answers the same data with another minimum output and the service's signature. Every other byte stays. It stores nothing.",
  body: { type: 'application/json', schema: quotePatchInput, example: examples.quotePatch },
  answer: {
    type: 'text/plain',
    schema: quotePatchAnswer,
    example: examples.patchedQuote,
    description: 'The patched transaction data, and nothing else',
  },
  errors: {
    ...bodyErrors,
    invalid_request: {
      cause: 'The body has no `data` or an unknown field, or `minOutput.amount` is no uint256.',
      remedy: 'Fix the places that `errors` names.',
    },
    no_changes: {
      cause: 'There is no `minOutput`, or the data has this minimum already.',
      remedy: 'Name another minimum, or keep the data.',
    },
    invalid_date: {
      cause: '`data` is no swap call of the Navigator, has another layout than a quote, or its deadline has passed.',
      remedy: 'Send `quote.tx.data` unchanged, or get a new quote.',
    },
    invalid_signature: {
      cause: '`data` is signed by no quote signer.',
      remedy: 'Send it unchanged; ask the operator for the quote signers.',
    },
    field_not_exists: {
      cause: 'The swap call has no minimum output to set.',
      remedy: 'Ask for a quote with a slippage assertion.',
    },
    rate_limited: clientLimited,
    unavailable: {
      cause: `The service has no key to patch quotes, or ${stopped}.`,
      remedy: 'Ask the operator, or send the request again.',
    },
    internal,
  },
};

function document(path: string, type: Content['type'], summary: string): Operation {
  const schema = type === 'application/json' ? z.looseObject({}) : z.string();
  const answer = { type, schema, description: 'The document' };
  return {
    method: 'GET',
    path,
    section: '4.7',
    tag: 'Documents',
    summary,
    description: '',
    answer,
    errors: readErrors,
  };
}

/** Every operation of the HTTP interface, keyed by its id in OpenAPI. */
export const operations = {
  placeOrders: place,
  listOrders: list,
  findOrder,
  readAccount,
  readHistory,
  streamOrders: stream,
  cancelOrders: cancel,
  cancelOrdersByPost: cancelByPost,
  replaceOrders: replace,
  cancelAllOrders: cancelAll,
  setSwitch: beat,
  nameCancelKeys,
  setFillCap,
  describeService,
  ...bookOperations,
  patchQuote,
  readOpenApi: document(paths.openApi, 'application/json', 'This interface as OpenAPI 3.1'),
  readAsyncApi: document(paths.asyncApi, 'application/json', 'The topics of the log and the feeds as AsyncAPI 3'),
  readDocs: document(paths.docs, 'text/html', 'This interface as a page, to read and to try'),
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof operations;

/** The methods of each path, whichever service answers them. */
export const methodsAt: Readonly<Record<string, readonly Method[]>> = Object.fromEntries(
  Object.values(operations).map(({ path }) => [path, methodsOf(path)]),
);

function methodsOf(path: string): Method[] {
  const order: readonly Method[] = ['GET', 'POST', 'DELETE', 'PATCH'];
  return order.filter((method) => Object.values(operations).some((one) => one.path === path && one.method === method));
}
