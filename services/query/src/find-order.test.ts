import { describe, expect, test } from '@jest/globals';
import {
  encodeMakerEvent,
  type MakerEvent,
  type MakerObserved,
  type OrderFill,
  type OrderSubmitted,
} from '@makerbook/contracts-events';
import { createRequestHashers } from '@makerbook/contracts-evm';
import { exampleDomain, examples, type OrderReport } from '@makerbook/contracts-http';
import { type Hex, quantity } from '@makerbook/contracts-primitives';
import { isRefusal, type Refusal } from '@makerbook/http';
import type { Asker } from './answer-signed.js';
import { readFacts } from './describe-entries.js';
import { describeOrder, type FindOrderParts, findOrder } from './find-order.js';
import { type FoundOrder, type OrderSources, readOrderFrom } from './read-order.js';
import type { HistoryEntry, OrderChange } from './store/read-histories.js';

const orderHash = examples.reported.orderHash as Hex;
const maker = examples.reported.order.maker as Hex;
const block = { number: 7, hash: `0x${'b7'.repeat(32)}`, timestamp: 1_700_000_007 } as const;
const submitted: OrderSubmitted = {
  type: 'OrderSubmitted',
  maker,
  orderHash,
  order: examples.reported.order as OrderSubmitted['order'],
  signature: `0x${'5a'.repeat(65)}`,
  acceptedAtMs: 5,
  cause: { kind: 'request', requestId: 'r' },
};
const entry = (over: Partial<OrderChange> & { readonly logOffset?: bigint }): HistoryEntry => ({
  partition: 3,
  logOffset: 1n,
  orderHash,
  happened: 'OPENED',
  status: 'VALIDATING',
  reason: null,
  remaining: 100n,
  cappedUntil: 0,
  ...over,
});
const observed = (filled: number, cancelled = false): MakerEvent => ({
  type: 'MakerObserved',
  maker,
  block,
  cause: { kind: 'log', transactionHash: `0x${'7a'.repeat(32)}`, logIndex: 2 },
  funds: [],
  orders: [{ orderHash, filled: `0x${filled.toString(16)}`, cancelled }],
});

/** The answer about an order for which the rows and the log have this. */
async function find(found: FoundOrder | Refusal) {
  const parts = {
    hashers: createRequestHashers({ ...exampleDomain, verifyingContract: exampleDomain.limitOrderProtocol }),
    isWhitelistKnown: () => true,
    rules: { requestTtlSeconds: 30, clockSkewSeconds: 5, mayRead: () => false, isKnown: () => true },
    replays: { takeSalt: async () => ({ kind: 'takenLocally' }), releaseSalt: async () => undefined },
    budget: { ratePerSecond: 1, burst: 1 },
    readState: async () => undefined,
    unixMs: () => examples.orderQuery.issuedAt * 1000,
    checkedLocally: () => undefined,
    readOrder: async () => found,
    listRules: { routingGraceSeconds: 60 },
  } as unknown as FindOrderParts;
  const query = new URLSearchParams({ ...examples.orderQuery, issuedAt: String(examples.orderQuery.issuedAt) });
  const request = { params: { orderHash }, query, describe: () => undefined };
  return findOrder(request as unknown as Parameters<typeof findOrder>[0], parts);
}

async function reportOf(...happened: readonly (readonly [HistoryEntry, MakerEvent])[]) {
  const entries = [entry({}), ...happened.map(([one]) => one)];
  const facts = [[1n, submitted] as const, ...happened.map(([{ logOffset }, fact]) => [logOffset, fact] as const)];
  const stored = facts.map(([offset, fact]) => [offset, { fact, loggedAtMs: Number(offset) }] as const);
  const reply = await find({ submitted, entries, facts: new Map(stored), lag: 0 });
  if (isRefusal(reply)) throw new Error(reply.detail);
  return JSON.parse(String(reply.body)) as OrderReport;
}

describe('the report of an order', () => {
  test('has the order as it was posted, its status, and the cause of each change', async () => {
    const active = entry({ logOffset: 2n, happened: 'CHANGED', status: 'ACTIVE' });
    const { order, signature, acceptedAtMs } = submitted;
    expect(await reportOf([active, observed(0)])).toEqual({
      order,
      orderHash,
      signature,
      acceptedAtMs,
      status: 'ACTIVE',
      routableUntil: Number(order.expiresAt) - 60,
      remainingMakingAmount: '0x64',
      filledMakingAmount: '0x0',
      timeline: [
        {
          position: '3:1',
          loggedAtMs: 1,
          happened: 'OPENED',
          status: 'VALIDATING',
          remainingMakingAmount: '0x64',
          cause: { kind: 'request', requestId: 'r' },
        },
        {
          position: '3:2',
          loggedAtMs: 2,
          happened: 'CHANGED',
          status: 'ACTIVE',
          remainingMakingAmount: '0x64',
          cause: { kind: 'log', block, transactionHash: `0x${'7a'.repeat(32)}`, logIndex: 2 },
        },
      ],
    });
  });

  test('names the funds that an INACTIVE order lacks', async () => {
    const inactive = entry({ logOffset: 2n, happened: 'CHANGED', status: 'INACTIVE', reason: 'INSUFFICIENT_BALANCE' });
    expect(await reportOf([inactive, observed(0)])).toMatchObject({
      status: 'INACTIVE',
      reason: 'INSUFFICIENT_BALANCE',
    });
  });

  test('names what a VALIDATING order waits for, and leaves out funds that were not read', async () => {
    const waiting = entry({ logOffset: 2n, happened: 'CHANGED', status: 'VALIDATING', reason: 'TAKING_TOKEN' });
    const read = observed(0) as MakerObserved;
    const unread = { token: orderHash.slice(0, 42) as Hex, balance: '0x0', allowance: '0x0', unread: true } as const;
    const told = await reportOf([waiting, { ...read, funds: [unread] }]);
    expect(told).toMatchObject({ status: 'VALIDATING', waitsFor: 'TAKING_TOKEN' });
    expect(told.timeline.at(-1)).toMatchObject({ status: 'VALIDATING', waitsFor: 'TAKING_TOKEN' });
    expect(told.timeline.at(-1)).not.toHaveProperty('funds');
  });

  test.each<[reason: string, fact: MakerEvent, filled: string, cause: string]>([
    ['CANCELLED_ONCHAIN', observed(10, true), '0xa', 'log'],
    ['NONCE_CHANGED', observed(10), '0xa', 'log'],
    [
      'CANCELLED',
      { type: 'OrderCancelled', maker, orderHash, expiresAtSeconds: 9, cause: { kind: 'request', requestId: 'c' } },
      '0xa',
      'request',
    ],
    ['EXPIRED', { type: 'BlockProcessed', block }, '0xa', 'block'],
  ])('says how much was filled of an order that ended as %s', async (reason, fact, filled, kind) => {
    const removed = entry({ logOffset: 9n, happened: 'REMOVED', status: 'ACTIVE', reason, remaining: 90n });
    const told = await reportOf([removed, fact]);
    expect(told).toMatchObject({ status: reason, filledMakingAmount: filled });
    expect(BigInt(told.remainingMakingAmount) + BigInt(told.filledMakingAmount)).toBe(100n);
    expect(told.timeline.at(-1)).toMatchObject({ status: reason, cause: { kind } });
    expect(told).not.toHaveProperty('reason');
  });

  describe('sums its fills', () => {
    const cancelled: MakerEvent = {
      type: 'OrderCancelled',
      maker,
      orderHash,
      expiresAtSeconds: 9,
      cause: { kind: 'request', requestId: 'c' },
    };
    const fillOf = (sold: number, blockNumber: number, told: Partial<OrderFill> = {}): OrderFill => ({
      orderHash,
      taker: maker,
      makingAmount: quantity(BigInt(sold)),
      takingAmount: '0x1',
      blockNumber,
      transactionHash: `0x${'7a'.repeat(32)}`,
      logIndex: 2,
      ...told,
    });
    /** The entry of a fill, and the fact that contains the fill. */
    const filled = (logOffset: bigint, fill: OrderFill): readonly [HistoryEntry, MakerEvent] => {
      const { blockNumber, logIndex } = fill;
      const happened = { happened: 'FILLED', blockNumber, logIndex } as const;
      const fact = { ...observed(0), orders: [], fills: [fill] } as MakerEvent;
      return [{ partition: 3, logOffset, orderHash, ...happened }, fact];
    };
    const end = (logOffset: bigint, remaining: bigint): readonly [HistoryEntry, MakerEvent] => [
      entry({ logOffset, happened: 'REMOVED', status: 'ACTIVE', reason: 'CANCELLED', remaining }),
      cancelled,
    ];

    test('including those after its end, and says how much that was', async () => {
      const first = filled(2n, fillOf(10, 7, { remaining: '0x5a' }));
      const read = [entry({ logOffset: 2n, happened: 'CHANGED', status: 'ACTIVE', remaining: 90n }), first[1]] as const;
      const late = [fillOf(20, 8, { remaining: '0x46' }), fillOf(30, 9, { remaining: '0x28' })];
      const told = await reportOf(
        first,
        read,
        end(3n, 90n),
        filled(4n, late[0] as OrderFill),
        filled(5n, late[1] as OrderFill),
      );
      const sums = { remainingMakingAmount: '0x28', filledMakingAmount: '0x3c', filledAfterEnd: '0x32' };
      expect(told).toMatchObject({ status: 'CANCELLED', ...sums });
    });

    test('by the newest one alone if those before it are unknown', async () => {
      const told = await reportOf(end(3n, 100n), filled(4n, fillOf(1, 8, { remaining: '0x1' })));
      expect(told).toMatchObject({ filledMakingAmount: '0x63', filledAfterEnd: '0x63' });
    });

    test('of an earlier release by what each one sold', async () => {
      const told = await reportOf(end(3n, 90n), filled(4n, fillOf(20, 8)), filled(5n, fillOf(30, 9)));
      expect(told).toMatchObject({ filledMakingAmount: '0x32', filledAfterEnd: '0x28' });
    });

    test('from before it was posted, and does not count those as after its end', async () => {
      const [known, fact] = filled(0n, fillOf(10, 7, { remaining: '0x5a' }));
      const facts = [
        [0n, fact],
        [1n, submitted],
        [2n, cancelled],
      ] as const;
      const stored = new Map(facts.map(([offset, each]) => [offset, { fact: each, loggedAtMs: 0 }]));
      const removed = entry({ logOffset: 2n, happened: 'REMOVED', status: 'VALIDATING', reason: 'CANCELLED' });
      const told = describeOrder(
        { submitted, entries: [known, entry({}), removed], facts: stored, lag: 0 },
        { routingGraceSeconds: 60 },
      );
      expect(told).toMatchObject({ remainingMakingAmount: '0x5a', filledMakingAmount: '0xa' });
      expect(told).not.toHaveProperty('filledAfterEnd');
    });

    test('and lists each with its tokens, what was left and its time, as far as known', async () => {
      const { making, taking } = submitted.order;
      const whole = { makingToken: making.token, takingToken: taking.token, remaining: '0x5a', timestamp: 77 } as const;
      const told = await reportOf(filled(2n, fillOf(10, 7, whole)), filled(3n, fillOf(10, 6)));
      const tokens = { makingToken: making.token, takingToken: taking.token, makingAmount: '0xa', takingAmount: '0x1' };
      expect(told.timeline.slice(1)).toEqual([
        expect.objectContaining({ ...tokens, remainingMakingAmount: '0x5a', blockNumber: 7, blockTimestamp: 77 }),
        expect.objectContaining({ ...tokens, blockNumber: 6 }),
      ]);
      expect(told.timeline[2]).not.toHaveProperty('blockTimestamp');
    });
  });

  test('says of an operator’s decision only that it was one', async () => {
    const withheld = entry({ logOffset: 2n, happened: 'WITHHELD', status: 'ACTIVE' });
    const cause = { kind: 'operator', commandId: 'c', by: 'ann', reason: 'a reason' } as const;
    const { timeline } = await reportOf([withheld, { type: 'MakerSuspended', maker, cause }]);
    expect(timeline.at(-1)).toHaveProperty('cause', { kind: 'operator' });
  });

  test('is not made if the log lacks one of its facts', async () => {
    const readRecords = async () => new Map();
    expect(await readFacts({ readRecords }, { topic: 'log', partition: 0 }, [entry({})])).toBeUndefined();
  });
});

test('an order at a moment shows nothing that came later, even if it was opened again', async () => {
  const entries = [entry({}), entry({ logOffset: 4n, happened: 'REMOVED' }), entry({ logOffset: 8n })];
  const { headers, value } = encodeMakerEvent(submitted, { id: 'f', source: '/test', timeMs: 0 });
  const sources = {
    watch: { awaitSettled: async (_: Hex, state: unknown) => state },
    rows: {
      readOrderHistory: async () => ({ entries, hash: 'ACCEPTED', isUnsure: false, foldedTo: 9n }),
      readPartitionClocks: async () => [{ partition: 0, nextOffset: 9n, block: undefined }],
    },
    log: {
      readRecords: async (_: unknown, offsets: readonly bigint[]) =>
        new Map(offsets.map((offset) => [offset, { headers, value, timestampMs: 0 }])),
    },
    topic: 'log',
  } as unknown as OrderSources;
  const asker = { maker, state: { unsettled: [] }, nowSeconds: 0 } as unknown as Asker;
  const at = async (offset: bigint) => {
    const found = await readOrderFrom(sources, 1)(asker, orderHash, { partition: 0, offset });
    return isRefusal(found) ? found : found.entries.map(({ logOffset }) => logOffset);
  };
  expect([await at(5n), await at(8n)]).toEqual([
    [1n, 4n],
    [1n, 4n, 8n],
  ]);
});
