import { z } from 'zod';
import { cappedUntil, limitOrderRecords, orderRecord, routableUntil, sentAddress, sentQuantity } from './orders.js';

const bytes32 = z.string().regex(/^0x[0-9a-f]{64}$/);
const block = z
  .object({
    number: z.int().nonnegative().describe('Its number'),
    hash: bytes32.describe('Its hash'),
    timestamp: z.int().nonnegative().describe('Its time, in Unix seconds'),
  })
  .meta({ id: 'Block', description: 'The block that was judged by' });

const kind = <K extends string>(name: K, meaning: string) => z.literal(name).describe(meaning);

/** The cause of a fact, as far as its maker may know. */
const factCause = z
  .discriminatedUnion('kind', [
    z
      .object({
        kind: kind('request', 'A request of the maker'),
        requestId: z.string().describe('The `X-Request-Id` of its answer'),
      })
      .meta({ id: 'RequestCause' }),
    z
      .object({
        kind: kind('log', 'A log of a transaction: a fill, a cancellation, a transfer, an approval'),
        block,
        transactionHash: bytes32.describe('The transaction'),
        logIndex: z.int().nonnegative().describe('Its place in the block'),
      })
      .meta({ id: 'LogCause' }),
    z
      .object({
        kind: kind('read', 'The service has read the chain'),
        block,
        occasion: z
          .enum(['ORDER', 'CATCH_UP', 'SWEEP'])
          .describe('A new order, a service that was behind, or the regular sweep'),
      })
      .meta({ id: 'ReadCause' }),
    z
      .object({ kind: kind('block', 'The time of a block, by which the order expired or was due'), block })
      .meta({ id: 'BlockCause' }),
    z.object({ kind: kind('operator', 'An operator decided it') }).meta({ id: 'OperatorCause' }),
  ])
  .describe('What led to the fact');

const openStatus = z.enum(['VALIDATING', 'ACTIVE', 'INACTIVE']);
const endStatus = z.enum(['CANCELLED', 'CANCELLED_ONCHAIN', 'NONCE_CHANGED', 'FILLED', 'EXPIRED']);
const orderStatus = z
  .enum([...openStatus.options, ...endStatus.options])
  .describe('The status of an open order as the list has it, or how the order ended');
const inactiveReason = z
  .enum(['INSUFFICIENT_ALLOWANCE', 'INSUFFICIENT_BALANCE'])
  .optional()
  .describe('Which funds do not cover the order; there if the status is `INACTIVE`');

const waitsFor = z
  .enum(['FUNDS', 'SIGNATURE', 'TAKING_TOKEN'])
  .optional()
  .describe(
    'There if a `VALIDATING` order waits for more than its first reading. `FUNDS`: its token is expensive to read, and waits its turn. `SIGNATURE`: the contract at the address of the maker has not accepted the signature since its last log. `TAKING_TOKEN`: the taking token has no code, so nobody can pay in it',
  );

/** Lists what can happen to an order, in the sequence in which one fact does it. Cursors number entries by it. */
export const happenings = ['OPENED', 'FILLED', 'CHANGED', 'WITHHELD', 'REMOVED'] as const;

const place = {
  position: z
    .string()
    .regex(/^[0-9]+:[0-9]+$/)
    .describe('Where the fact is in the log: `<partition>:<offset>`'),
  loggedAtMs: z.int().nonnegative().describe('When it was written there, in milliseconds since 1970'),
};

const changeEntry = z
  .object({
    ...place,
    happened: z
      .enum(['OPENED', 'CHANGED', 'WITHHELD', 'REMOVED'])
      .describe(
        '`WITHHELD`: routers do not or no longer get the order, because a cap of its maker is exceeded (`cappedUntil` is there), its last minute has begun, or its maker is suspended',
      ),
    status: orderStatus,
    reason: inactiveReason,
    waitsFor,
    cappedUntil,
    remainingMakingAmount: sentQuantity.describe('What was left of the making amount afterwards'),
    funds: z
      .array(z.object({ token: sentAddress, balance: sentQuantity, allowance: sentQuantity }).meta({ id: 'Funds' }))
      .optional()
      .describe(
        'Balance and allowance of each token that was read, at the block of the cause. Missing if the fact is no reading',
      ),
    cause: factCause,
  })
  .meta({ id: 'ChangeEntry', description: 'What a fact did to the state of an order' });

/** The fields of a fill, from the contract's `OrderFilled`. */
export const fillFields = {
  makingToken: sentAddress.optional().describe('The token that the maker sold'),
  makingAmount: sentQuantity.describe('What the maker sold of it'),
  takingToken: sentAddress.optional().describe('The token that the maker got'),
  takingAmount: sentQuantity.describe('What the maker got of it: the price is this divided by what was sold'),
  remainingMakingAmount: sentQuantity.optional().describe('What was left of the making amount afterwards'),
  taker: z
    .string()
    .regex(/^0x[0-9a-f]{40}$/)
    .describe('Who filled the order'),
  blockNumber: z.int().nonnegative().describe('The block'),
  blockTimestamp: z.int().nonnegative().optional().describe('Its time, in Unix seconds'),
  transactionHash: bytes32.describe('The transaction'),
  logIndex: z.int().nonnegative().describe('Its place in the block: with the block it names the fill'),
};

const fillEntry = z
  .object({
    ...place,
    happened: z.literal('FILLED').describe('The order was filled, in full or in part'),
    ...fillFields,
  })
  .meta({
    id: 'FillEntry',
    description:
      'A fill as the contract logs it (`OrderFilled`), whether its order is open, has ended or was posted later. Each is there once. Tokens, `remainingMakingAmount` and `blockTimestamp` are missing if an earlier release wrote the fill; a token also if it logs no `Transfer` and the order is not open',
  });

const timelineEntry = z.discriminatedUnion('happened', [changeEntry, fillEntry]);
const ofOrder = { orderHash: bytes32.describe('The order') };

/** The answer to GET …/history. */
export const orderHistory = z
  .object({
    entries: z
      .array(
        z.discriminatedUnion('happened', [
          changeEntry.extend(ofOrder).meta({ id: 'HistoryChange' }),
          fillEntry.extend(ofOrder).meta({ id: 'HistoryFill' }),
        ]),
      )
      .describe("What happened to the maker's orders, oldest first"),
    nextCursor: z.string().describe('The `cursor` of the next page. Nothing is added before it later'),
    hasMore: z.boolean().describe('True if there is a next page already; else ask again later'),
  })
  .meta({ id: 'OrderHistory' });

const cursor = z.string().describe('The id of an event: a `cursor` of the history, too');

/** The data of each event of GET …/stream. */
export const streamEvents = {
  snapshot: z.object({
    orders: limitOrderRecords.describe('The open orders, as the list has them'),
    version: z.string().describe('The `X-List-Version` of the list'),
    cancelAllAt: z.int().optional().describe("The maker's switch, if it is set: Unix seconds"),
  }),
  change: z
    .discriminatedUnion('happened', [
      changeEntry.extend({ ...ofOrder, after: cursor }),
      fillEntry.extend({ ...ofOrder, after: cursor }),
    ])
    .describe('An entry of the history. `after` is the id of the change or snapshot before it'),
  clock: z.object({
    position: z.string().describe('`<partition>:<offset>`: the stream has sent all facts before it'),
    block: z
      .object({ number: z.int().nonnegative(), timestamp: z.int().nonnegative() })
      .nullable()
      .describe('The newest block that the orders were judged by'),
  }),
  end: z.object({
    reason: z
      .enum(['slow', 'stopping', 'gone', 'revoked'])
      .describe(
        '`revoked`: the key that signed may not stream any more. `gone`: the history after the id is not kept any more: begin without an id. Else connect again with it',
      ),
  }),
};

export type StreamEvent<Event extends keyof typeof streamEvents = keyof typeof streamEvents> = {
  [E in Event]: z.infer<(typeof streamEvents)[E]> & { readonly event: E };
}[Event];

/** The most entries of a timeline in one answer. */
export const TIMELINE_ENTRIES_MAX = 100;

/** The answer to GET …/{orderHash}: an order that was ever accepted. */
export const orderReport = z
  .object({
    ...orderRecord,
    status: orderStatus,
    reason: inactiveReason,
    waitsFor,
    routableUntil,
    cappedUntil,
    remainingMakingAmount: sentQuantity.describe('What is left of the making amount on the chain'),
    filledMakingAmount: sentQuantity.describe(
      'What was filled of the making amount: before the order was posted, while it was open, and after it ended here',
    ),
    filledAfterEnd: sentQuantity
      .optional()
      .describe(
        'The part that was filled after the order had ended here, if there is one. A taker may fill an order that was cancelled off-chain',
      ),
    acceptedAtMs: z.int().nonnegative().describe('When the order was accepted, in milliseconds since 1970'),
    timeline: z
      .array(timelineEntry)
      .describe(
        `What happened to the order, oldest first: at most ${TIMELINE_ENTRIES_MAX} entries, the first and the newest, and also how it ended. A reading that changed nothing has no entry`,
      ),
  })
  .meta({ id: 'OrderReport' });

export type OrderReport = z.infer<typeof orderReport>;
export type FactCause = z.infer<typeof factCause>;
export type TimelineEntry = z.infer<typeof timelineEntry>;
export type OrderHistory = z.infer<typeof orderHistory>;
export type Happening = (typeof happenings)[number];
