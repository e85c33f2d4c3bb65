import { describe, expect, test } from '@jest/globals';
import type { BookEntry } from '@makerbook/contracts-events';
import { type Checked, checkActive } from './check-active.js';
import type { Message } from './follow-feed.js';
import { trackedOrder } from './testing/track-order.js';

const { token, signed } = trackedOrder();
const { order: body, orderHash, signature } = signed;

/** The chain at a block; what is left out is that of the block before. */
interface At {
  readonly balance?: bigint;
  readonly allowance?: bigint;
  readonly filled?: bigint;
  readonly nonce?: bigint;
  readonly isCancelled?: boolean;
  readonly timestamp?: number;
}

/** What stands in the log, by offset, and the messages of the feed. Block 1 is processed at offset 1. */
interface Story {
  readonly chain: Readonly<Record<number, At>>;
  readonly messages: readonly Message[];
  /** Offsets at which blocks are processed. */
  readonly processed?: Readonly<Record<number, bigint>>;
  /** The block of the reading, by offset. */
  readonly readAt?: Readonly<Record<string, number>>;
  readonly deletedAt?: bigint;
  readonly isSilent?: boolean;
  readonly isSuspect?: boolean;
}

function check(story: Story): Promise<Checked> {
  const processed = Object.entries({ 1: 1n, ...story.processed }).map(([block, offset]) => ({
    block: Number(block),
    offset,
  }));
  const at = (block: number): Required<At> => {
    const before = { balance: 0n, allowance: 0n, filled: 0n, nonce: 0n, isCancelled: false, timestamp: 100 };
    for (let number = 1; number <= block; number += 1) Object.assign(before, story.chain[number]);
    return before;
  };
  return checkActive({
    feed: {
      messages: () => story.messages,
      processedAt: (_, block) => processed.find((each) => each.block === block)?.offset,
      processedBefore: (_, offset) => processed.findLast((each) => each.offset < offset)?.block ?? 0,
      readUpTo: (_, offset) =>
        Object.entries(story.readAt ?? {}).findLast(([place]) => BigInt(place) <= offset)?.[1] ?? 0,
      deletedAt: () => story.deletedAt,
    },
    contracts: {
      nonce: async (_, block) => at(block).nonce,
      filled: async (_, block) => at(block).filled,
      isCancelled: async (_, block) => at(block).isCancelled,
      balance: async (_, __, block) => at(block).balance,
      allowance: async (_, __, block) => at(block).allowance,
    },
    orders: [trackedOrder()],
    blocks: processed.slice(1).map(({ block }) => ({ number: block, timestamp: at(block).timestamp })),
    headOf: (block) => ({ number: block, timestamp: at(block).timestamp }),
    silentTokens: new Set(story.isSilent === true ? [token] : []),
    suspectTokens: new Set(story.isSuspect === true ? [token] : []),
  });
}

/** ACTIVE at an offset, with 10 left and funds of 10 that were read at block 1, unless it is said otherwise. */
function active(
  offset: bigint,
  { left = 10n, funds = {}, ...rest }: { left?: bigint; funds?: object } & Partial<BookEntry> = {},
): Message {
  const funding = { balance: '0xa', allowance: '0xa', block: 1, ...funds };
  const entry = {
    type: 'BookEntry',
    orderHash,
    order: body,
    signature,
    remainingMakingAmount: `0x${left.toString(16)}`,
    routableUntil: 940,
    acceptedAtMs: 0,
    position: { partition: 0, offset: String(offset) },
    status: 'ACTIVE',
    funding,
    ...rest,
  } as BookEntry;
  return { says: `ACTIVE ${left}`, removal: undefined, entry, offset };
}

const funded = { balance: 10n, allowance: 10n };

test('an order that can be filled, when it is said and with each block that is processed meanwhile', async () => {
  const story = { chain: { 1: funded, 2: {}, 3: {} }, messages: [active(3n)], processed: { 2: 10n, 3: 20n } };
  expect(await check(story)).toEqual({ wrong: [], held: 3 });
});

describe('ACTIVE is wrong', () => {
  test.each<[string, At]>([
    ['cancelled', { isCancelled: true }],
    ['filled', { filled: 10n }],
    ['filled in part', { filled: 1n }],
    ['of another nonce', { nonce: 1n }],
    ['not funded', { balance: 9n }],
    ['not allowed', { allowance: 9n }],
  ])('of an order that is %s, from its first message on, and with the next block', async (_, change) => {
    const chain = { 1: funded, 3: change };
    const later = await check({ chain, messages: [active(3n)], processed: { 2: 10n, 3: 20n } });
    expect(later).toMatchObject({ held: 2, wrong: [expect.stringContaining('with block 3 processed')] });
    const messages = [active(25n)];
    const first = await check({ chain, messages, processed: { 2: 10n, 3: 20n, 4: 30n } });
    expect(first).toMatchObject({ held: 0 });
    expect(first.wrong).toHaveLength(2);
  });

  test('of an order in its last minute by the clock of the log', async () => {
    const story = {
      chain: { 1: funded, 3: { timestamp: 940 } },
      messages: [active(3n)],
      processed: { 2: 10n, 3: 20n },
    };
    expect(await check(story)).toMatchObject({ held: 2, wrong: [expect.stringContaining('in its last minute')] });
  });

  test('by values of two blocks: at the one that was read it cannot be filled, though it could at the one before', async () => {
    const chain = { 1: funded, 2: { isCancelled: true } };
    const { wrong } = await check({ chain, messages: [active(5n, { funds: { block: 2 } })], readAt: { 5: 2 } });
    expect(wrong).toEqual([expect.stringMatching(/with block 1 processed, but at 2 it was cancelled/)]);
  });

  test('where its maker was read at a newer block meanwhile, and nothing was published', async () => {
    const chain = { 1: funded, 3: { balance: 9n } };
    const story = { chain, messages: [active(3n)], processed: { 2: 10n }, readAt: { 3: 1 } };
    expect(await check(story)).toMatchObject({ wrong: [], held: 2 });
    const { wrong } = await check({ ...story, readAt: { 3: 1, 7: 3 } });
    expect(wrong).toEqual([expect.stringMatching(/with block 2 processed, but at 3 the balance was 9/)]);
  });

  test('after the order was deleted', async () => {
    expect(await check({ chain: { 1: funded }, messages: [active(5n)], deletedAt: 4n })).toMatchObject({
      wrong: [expect.stringContaining('it was deleted')],
    });
  });

  test.each<[string, Parameters<typeof active>[1]]>([
    ['another order', { order: { ...body, nonce: '0x1' } }],
    ['another signature', { signature: '0x02' }],
    ['another time', { routableUntil: 941 }],
    ['another balance', { funds: { balance: '0xb' } }],
    ['another allowance', { funds: { allowance: '0xb' } }],
  ])('where the message says %s', async (_, said) => {
    const { wrong } = await check({ chain: { 1: funded }, messages: [active(3n, said)] });
    expect(wrong).toHaveLength(1);
  });

  test('where the message says zero, but of a token that cannot always be read', async () => {
    const poor = { status: 'INACTIVE', reason: 'INSUFFICIENT_BALANCE', funds: { balance: '0x0' } } as const;
    const story = { chain: { 1: funded }, messages: [active(3n, poor)] };
    expect((await check(story)).wrong).toHaveLength(1);
    expect((await check({ ...story, isSuspect: true })).wrong).toEqual([]);
    const other = { ...story, messages: [active(3n, { ...poor, funds: { balance: '0x1' } })] };
    expect((await check({ ...other, isSuspect: true })).wrong).toHaveLength(1);
  });
});

describe('ACTIVE is right', () => {
  test('by funds of a block that is not processed yet, and by a nonce that was read there', async () => {
    const read = { funds: { block: 2 } };
    expect(await check({ chain: { 1: {}, 2: funded }, messages: [active(3n, read)], readAt: { 3: 2 } })).toMatchObject({
      held: 1,
      wrong: [],
    });
    const chain = { 1: { ...funded, nonce: -1n }, 2: { nonce: 0n } };
    expect(await check({ chain, messages: [active(3n)], readAt: { 3: 2 } })).toMatchObject({ held: 1, wrong: [] });
  });

  test('of what is left, and no more', async () => {
    const chain = { 1: { balance: 4n, allowance: 4n, filled: 6n } };
    const funds = { balance: '0x4', allowance: '0x4' };
    expect(await check({ chain, messages: [active(3n, { left: 4n, funds })] })).toMatchObject({ held: 1, wrong: [] });
    expect((await check({ chain, messages: [active(3n, { left: 5n, funds })] })).wrong).toHaveLength(1);
  });

  test('by the balance that was read, of a token that changes in silence', async () => {
    const story = { chain: { 1: funded, 3: { balance: 0n } }, messages: [active(3n)], processed: { 2: 10n, 3: 20n } };
    expect(await check({ ...story, isSilent: true })).toMatchObject({ held: 3, wrong: [] });
    expect((await check(story)).wrong).toHaveLength(1);
  });
});
