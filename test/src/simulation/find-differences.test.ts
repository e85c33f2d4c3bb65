import { describe, expect, test } from '@jest/globals';
import {
  type Blocks,
  blockDifferences,
  feedDifferences,
  type Judged,
  listDifference,
  storedDifferences,
} from './find-differences.js';
import type { Message } from './follow-feed.js';
import { type ChainState, judgeOrder, type TrackedOrder } from './judge-orders.js';
import type { ListedOrder, StoredView } from './read-views.js';
import { trackedOrder } from './testing/track-order.js';

const { maker, token, signed } = trackedOrder();
const { orderHash } = signed;
const pair = `${maker} ${token}`;
const open = { wasOpen: true };

/** The chain, by which the order over 10 can be filled unless it is said otherwise. */
interface Chain {
  readonly balance?: bigint;
  readonly allowance?: bigint;
  readonly nonce?: bigint;
  readonly filled?: bigint;
  readonly timestamp?: number;
}

function stateOf({ balance = 10n, allowance = 10n, nonce = 0n, filled = 0n, timestamp = 100 }: Chain): ChainState {
  return {
    head: { number: 7, timestamp },
    nonce: () => nonce,
    balance: () => balance,
    allowance: () => allowance,
    filled: () => filled,
    isCancelled: () => false,
    wasAhead: () => false,
  };
}

function viewOf(
  says: string | undefined,
  {
    removal,
    isInBook = true,
    balance = 10n,
    allowance = 10n,
    nonce = 0n,
  }: Partial<Record<'balance' | 'allowance' | 'nonce', bigint>> & {
    removal?: string;
    isInBook?: boolean;
  } = {},
): StoredView {
  return {
    orders: new Map(says === undefined ? [] : [[orderHash, { says, isInBook }]]),
    removals: new Map(removal === undefined ? [] : [[orderHash, removal]]),
    funds: new Map([[pair, { balance, allowance }]]),
    nonces: new Map([[maker, nonce]]),
  };
}

describe('what Postgres says', () => {
  interface Case {
    readonly order?: Partial<TrackedOrder>;
    readonly chain?: Chain;
    readonly view: StoredView;
    readonly isSilent?: boolean;
  }
  const look = ({ order, chain = {}, view, isSilent }: Case, isFirstLook: boolean) => {
    const tracked = trackedOrder({ ...open, ...order });
    const state = stateOf(chain);
    const judged: Judged = {
      subjects: { orders: [tracked], silentTokens: new Set(isSilent === true ? [token] : []) },
      state,
      verdicts: new Map(tracked.isGone ? [] : [[tracked, judgeOrder(tracked, state)]]),
      isFirstLook,
    };
    return storedDifferences(view, judged);
  };

  test.each<[string, Case]>([
    ['an order that can be filled', { view: viewOf('ACTIVE 10') }],
    ['one that was filled', { chain: { filled: 10n }, view: viewOf(undefined, { removal: 'FILLED' }) }],
    ['one in its last minute', { chain: { timestamp: 940 }, view: viewOf('ACTIVE 10', { isInBook: false }) }],
  ])('is right of %s, at once', (_, one) => {
    expect([look(one, true), look(one, false)]).toEqual([[], []]);
  });

  test.each<[string, Case, RegExp]>([
    [
      'says another status',
      { chain: { balance: 9n }, view: viewOf('ACTIVE 10', { balance: 9n }) },
      /says ACTIVE 10, the chain INSUFFICIENT_BALANCE 10/,
    ],
    [
      'says that more is left',
      { chain: { filled: 1n }, view: viewOf('ACTIVE 10') },
      /says ACTIVE 10, the chain ACTIVE 9/,
    ],
    ['holds an order that was filled', { chain: { filled: 10n }, view: viewOf('ACTIVE 10') }, /the chain gone/],
    [
      'lacks an order that is open',
      { view: viewOf(undefined, { removal: 'FILLED' }) },
      /says gone, the chain ACTIVE 10/,
    ],
    [
      'says another reason',
      { chain: { filled: 10n }, view: viewOf(undefined, { removal: 'EXPIRED' }) },
      /removed because EXPIRED, but the chain says FILLED/,
    ],
    ['says no reason', { chain: { filled: 10n }, view: viewOf(undefined) }, /removed because undefined/],
    ['says VALIDATING of an order that was open', { view: viewOf('VALIDATING 10') }, /says VALIDATING 10/],
    [
      'keeps an order in the book in its last minute',
      { chain: { timestamp: 940 }, view: viewOf('ACTIVE 10') },
      /in the book 60 s before/,
    ],
    [
      'leaves it out of the book before',
      { chain: { timestamp: 939 }, view: viewOf('ACTIVE 10', { isInBook: false }) },
      /out of the book 61 s before/,
    ],
    [
      'holds an order that DELETE did not find',
      { order: { wasDenied: true }, view: viewOf('ACTIVE 10') },
      /DELETE said NOT_FOUND/,
    ],
    [
      'holds an order again that was gone',
      { order: { isGone: true }, view: viewOf('ACTIVE 10') },
      /was gone, and is back/,
    ],
    [
      'says another balance, which decides nothing',
      { view: viewOf('ACTIVE 10', { balance: 11n }) },
      /balance of .* says 11, the chain 10/,
    ],
    [
      'says another allowance, which decides nothing',
      { view: viewOf('ACTIVE 10', { allowance: 11n }) },
      /allowance of .* says 11, the chain 10/,
    ],
    ['says another nonce', { view: viewOf('ACTIVE 10', { nonce: 1n }) }, /nonce of .* says 1, the chain 0/],
  ])('is a difference where it %s, at once', (_, one, said) => {
    expect([look(one, true).join(), look(one, false).join()]).toEqual([
      expect.stringMatching(said),
      expect.stringMatching(said),
    ]);
  });

  test('is a difference where it holds an order that nobody posted', () => {
    const view = { ...viewOf('ACTIVE 10'), orders: new Map([['0xdd', { says: 'ACTIVE 1', isInBook: true }]]) };
    expect(look({ order: { isGone: true }, view }, true)).toEqual(['0xdd is stored, but was never accepted']);
  });

  test.each<[string, Case]>([
    ['a new order that was not read yet', { order: { wasOpen: false }, view: viewOf('VALIDATING 10') }],
    ['a new order that is not stored yet', { order: { wasOpen: false }, view: viewOf(undefined) }],
    ['an order that was deleted and stands there still', { order: { isDeleted: true }, view: viewOf('ACTIVE 10') }],
    ['a token that changes in silence', { isSilent: true, chain: { balance: 9n }, view: viewOf('ACTIVE 10') }],
    ['funds of a pair that nobody watched', { order: { wasOpen: false }, view: viewOf('ACTIVE 10', { balance: 11n }) }],
  ])('may be late, and not for long: %s', (_, one) => {
    expect(look(one, true)).toEqual([]);
    expect(look(one, false)).not.toEqual([]);
  });
});

describe('a list', () => {
  const listed = (says: string, given: Partial<ListedOrder> = {}) =>
    ({ order: signed.order, orderHash, signature: signed.signature, status: 'ACTIVE', says, ...given }) as ListedOrder;
  const other = trackedOrder({ signed: { ...signed, orderHash: `0x${'dd'.repeat(32)}` } });
  const orders = [trackedOrder(), other];
  const both = new Map(
    [orderHash, other.signed.orderHash].map((hash) => [hash as string, { says: 'ACTIVE 10', isInBook: true }]),
  );
  const stored = { ...viewOf('ACTIVE 10'), orders: both };
  const second = listed('ACTIVE', { orderHash: other.signed.orderHash });

  test('says what Postgres says, in the order in which the orders were accepted', () => {
    expect(listDifference(maker, [listed('ACTIVE'), second], orders, stored)).toBeUndefined();
    expect(listDifference('0x00', [], orders, stored)).toBeUndefined();
  });

  test.each<[string, readonly ListedOrder[]]>([
    ['lacks one', [listed('ACTIVE')]],
    ['is in another order', [second, listed('ACTIVE')]],
    ['holds one twice', [listed('ACTIVE'), listed('ACTIVE'), second]],
    ['says another status', [listed('INSUFFICIENT_BALANCE'), second]],
    ['says another order', [listed('ACTIVE', { order: { ...signed.order, nonce: '0x1' } }), second]],
    ['says another signature', [listed('ACTIVE', { signature: '0x02' }), second]],
  ])('is a difference where it %s', (_, records) => {
    expect(listDifference(maker, records, orders, stored)).toContain(`the list of ${maker} is`);
  });
});

describe('the end of the feed', () => {
  const messages = (says: string, removal?: string): Message => ({ says, removal, entry: undefined, offset: 1n });
  const look = (last: Message | undefined, stored: StoredView, order = trackedOrder()) =>
    feedDifferences({ messages: () => (last === undefined ? [] : [last]) }, { orders: [order] }, stored, new Map());

  test.each<[string, Message | undefined, StoredView]>([
    ['an open order', messages('ACTIVE 10'), viewOf('ACTIVE 10')],
    ['one out of the book', messages('gone', 'GRACE_PERIOD'), viewOf('ACTIVE 10', { isInBook: false })],
    ['one that was removed', messages('gone', 'FILLED'), viewOf(undefined, { removal: 'FILLED' })],
    ['one that never was in the book', undefined, viewOf('ACTIVE 10', { isInBook: false })],
  ])('is right of %s', (_, last, stored) => {
    expect(look(last, stored)).toEqual([]);
  });

  test.each<[string, Message | undefined, StoredView]>([
    ['says another status', messages('ACTIVE 10'), viewOf('INSUFFICIENT_BALANCE 10')],
    ['says that more is left', messages('ACTIVE 10'), viewOf('ACTIVE 9')],
    ['lacks an order', undefined, viewOf('ACTIVE 10')],
    ['holds one in its last minute', messages('ACTIVE 10'), viewOf('ACTIVE 10', { isInBook: false })],
    ['holds one that was removed', messages('ACTIVE 10'), viewOf(undefined, { removal: 'FILLED' })],
    ['says another reason', messages('gone', 'EXPIRED'), viewOf(undefined, { removal: 'FILLED' })],
  ])('is a difference where it %s', (_, last, stored) => {
    expect(look(last, stored)).toHaveLength(1);
    expect(look(last, stored, trackedOrder({ isGone: true }))).toHaveLength(1);
  });
});

describe('block for block', () => {
  /** Blocks 1 to 3, processed at offsets 10 to 30; the chain changes as it is said, from a block on. */
  interface Story {
    readonly order?: Partial<TrackedOrder>;
    readonly chain?: Readonly<Record<number, Chain>>;
    /** By offset. */
    readonly messages?: Readonly<Record<number, string>>;
    /** What the log says of the balance, by offset. */
    readonly balances?: Readonly<Record<number, bigint>>;
    readonly leftOut?: number;
    /** The block of the newest reading, by offset; left out, none is beyond the processed block. */
    readonly readAt?: Readonly<Record<number, number>>;
    readonly isSilent?: boolean;
  }
  const compare = (story: Story) => {
    const at = (block: number) => {
      const known = {};
      for (let number = 1; number <= block; number += 1) Object.assign(known, story.chain?.[number]);
      return stateOf(known);
    };
    const last = <Value>(of: Readonly<Record<number, Value>>, offset: bigint): Value | undefined =>
      Object.entries(of).findLast(([place]) => BigInt(place) <= offset)?.[1];
    const messages = Object.entries(story.messages ?? { 5: 'ACTIVE 10' }).map(([offset, says]) => ({
      says,
      removal: undefined,
      entry: undefined,
      offset: BigInt(offset),
    }));
    const feed: Blocks['feed'] = {
      messages: () => messages,
      processedAt: (_, block) => (block === story.leftOut ? undefined : BigInt(block * 10)),
      readUpTo: (_, offset) => last(story.readAt ?? {}, offset) ?? 0,
      fundsAt: (_, __, offset) => ({ balance: last(story.balances ?? { 1: 10n }, offset), allowance: 10n }),
    };
    return blockDifferences({
      feed,
      contracts: {
        nonce: async (_, block) => at(block).nonce(maker),
        filled: async (_, block) => at(block).filled(orderHash),
        isCancelled: async () => false,
        balance: async (_, __, block) => at(block).balance(maker, token),
        allowance: async () => 10n,
      },
      orders: [trackedOrder({ ...open, ...story.order })],
      silentTokens: new Set(story.isSilent === true ? [token] : []),
      blocks: [1, 2, 3].map((number) => ({ number, timestamp: at(number).head.timestamp })),
    });
  };
  const poor = { chain: { 2: { balance: 9n }, 3: { balance: 10n } }, balances: { 1: 10n, 15: 9n, 25: 10n } };

  test.each<[string, Story]>([
    ['nothing happens', {}],
    [
      'it lacks funds for one block',
      { ...poor, messages: { 5: 'ACTIVE 10', 15: 'INSUFFICIENT_BALANCE 10', 25: 'ACTIVE 10' } },
    ],
    [
      'it is filled, after which nobody reads its funds',
      { chain: { 2: { filled: 10n, balance: 0n } }, messages: { 5: 'ACTIVE 10', 15: 'gone' } },
    ],
    ['it comes to its last minute', { chain: { 2: { timestamp: 940 } }, messages: { 5: 'ACTIVE 10', 20: 'gone' } }],
    [
      'its maker was read two blocks ahead',
      {
        chain: { 2: { balance: 8n }, 3: { balance: 9n } },
        messages: { 5: 'INSUFFICIENT_BALANCE 10' },
        balances: { 5: 9n },
        readAt: { 5: 3 },
      },
    ],
  ])('is right where %s', async (_, story) => {
    expect(await compare(story)).toEqual({ wrong: [], blocksCompared: 3 });
  });

  test.each<[string, Story, RegExp]>([
    [
      'a change is published a block late',
      { ...poor, messages: { 5: 'ACTIVE 10', 25: 'ACTIVE 10' } },
      /after block 2 the router knew ACTIVE 10, the chain said INSUFFICIENT_BALANCE 10/,
    ],
    ['a change is published a block early', { messages: { 5: 'gone' } }, /after block 1 the router knew gone/],
    [
      'a part is filled and not published',
      { chain: { 3: { filled: 1n } } },
      /after block 3 the router knew ACTIVE 10, the chain said ACTIVE 9/,
    ],
    ['it is routable in its last minute', { chain: { 3: { timestamp: 940 } } }, /the chain said gone/],
    [
      'a balance is not reported that decides nothing',
      { chain: { 3: { balance: 11n } } },
      /after block 3 the log said balance 10, the chain 11/,
    ],
    ['it is VALIDATING', { messages: { 5: 'VALIDATING 10' } }, /after block 1 the router knew VALIDATING 10/],
    [
      'its maker was read two blocks ahead, and it is as it was at the processed block',
      { chain: { 3: { balance: 9n } }, balances: { 5: 9n }, readAt: { 5: 3 } },
      /after block 1 the router knew ACTIVE 10, the chain said INSUFFICIENT_BALANCE 10 at 3/,
    ],
  ])('is a difference where %s', async (_, story, said) => {
    expect((await compare(story)).wrong.join()).toMatch(said);
  });

  test('counts the blocks after which something was compared, and no others', async () => {
    const silent = { messages: { 5: 'gone' } };
    expect(await compare({ ...silent, order: { wasOpen: false } })).toEqual({ wrong: [], blocksCompared: 0 });
    expect(await compare({ ...silent, order: { isDeleted: true } })).toEqual({ wrong: [], blocksCompared: 0 });
    expect(await compare({ ...silent, isSilent: true })).toEqual({ wrong: [], blocksCompared: 0 });
    expect(await compare({ leftOut: 2 })).toEqual({ wrong: [], blocksCompared: 2 });
  });
});
