import { describe, expect, test } from '@jest/globals';
import type { MakerEvent } from '@makerbook/contracts-events';
import { type Address, evolve, type Maker, type Placed, rememberHashes, type Transition } from '@makerbook/domain';
import fc from 'fast-check';
import {
  factStreams,
  makersOf,
  orderOf,
  startSeconds,
  storedRecord,
  withLateBlocks,
} from './testing/generate-facts.js';
import { testPartition as partition, projectInMemory, testPartitions } from './testing/project-in-memory.js';

const makers = makersOf(partition, testPartitions, 5);
const poisoned = [makers[1], makers[3]] as Address[];
const poison = new Set(poisoned.flatMap((maker) => [2, 4].map((number) => orderOf(maker, number).orderHash)));

/**
 * A fold with a bug: it cannot take a block at which something of a maker is due, or that has missed an order of a maker,
 * who has one of these orders. It hangs on the state alone, as a bug would.
 */
const broken: typeof evolve = (before, facts, rules) => {
  const hashes = rememberHashes(rules);
  const transitions: Transition[] = [];
  let maker = before;
  for (const placed of facts) {
    const { fact, clockSeconds } = placed;
    const isDue = fact.type === 'BlockProcessed' && Math.max(clockSeconds, fact.block.timestamp) >= maker.dueAtSeconds;
    if ((isDue || hasMissed(maker, placed)) && [...maker.orders.keys()].some((hash) => poison.has(hash)))
      throw new Error('an invariant is broken');
    const evolved = evolve(maker, [placed], { ...rules, ...hashes });
    hashes.note(evolved.transitions);
    transitions.push(...evolved.transitions);
    maker = evolved.maker;
  }
  return { maker, transitions };
};

function hasMissed({ orders }: Maker, { fact, processedBlock }: Placed<MakerEvent>): boolean {
  if (fact.type !== 'BlockProcessed' || fact.knownOffset === undefined || fact.block.number <= processedBlock)
    return false;
  const known = BigInt(fact.knownOffset);
  return [...orders.values()].some(
    ({ acceptedOffset, observedBlock = Infinity }) => acceptedOffset >= known && observedBlock < fact.block.number,
  );
}

const streams = factStreams(makers, partition, { min: 40, max: 160, orders: 7 }).map((stream) =>
  withLateBlocks(stream, [80, 130, 200, 290, 400]),
);

interface Message {
  readonly to: string;
  readonly key: string;
  readonly value: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

function messagesOf(feeds: string): Message[] {
  return JSON.parse(feeds.replaceAll('][', ',') || '[]');
}

/** Order hashes of the test begin with their maker's address. */
const makerOf = ({ to, key }: Message) => (to === 'makers' ? key : key.slice(0, 42));

describe('a block that cannot be folded for a maker', () => {
  test('halts it alone: of all others everything is as if there had been no poison', async () => {
    let halts = 0;
    await fc.assert(
      fc.asyncProperty(streams, async (stream) => {
        const { output } = await projectInMemory(stream, { evolve: broken });
        const { output: sound } = await projectInMemory(stream, {});
        const others = <T extends { readonly maker: string }>(rows: readonly T[]) =>
          rows.filter(({ maker }) => !poisoned.some((one) => one === maker));
        expect(others(output.makers)).toEqual(others(sound.makers));
        expect(others(output.funding)).toEqual(others(sound.funding));
        expect(others(output.orders)).toEqual(others(sound.orders));
        expect(others(output.history)).toEqual(others(sound.history));
        const feedOfOthers = (feeds: string) =>
          messagesOf(feeds).filter((message) => !poisoned.some((one) => one === makerOf(message)));
        expect(feedOfOthers(output.feeds)).toEqual(feedOfOthers(sound.feeds));
        expect(output.clockSeconds).toBe(sound.clockSeconds);
        halts += output.parked.length;
      }),
      { numRuns: 200 },
    );
    expect(halts).toBeGreaterThan(100);
  });

  test('gives the same however the log is cut, blocks are sliced, and makers are kept', async () => {
    await fc.assert(
      fc.asyncProperty(
        streams,
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 }),
        fc.constantFrom(1, 3, 6, 1_000),
        async (stream, lengths, ordersMax) => {
          const { output } = await projectInMemory(stream, { lengthOf: () => 1, keep: false, evolve: broken });
          const lengthOf = (batch: number) => lengths[batch % lengths.length] ?? 1;
          for (const keep of [true, false]) {
            const cut = await projectInMemory(stream, { lengthOf, keep, ordersMax, evolve: broken });
            expect(cut.output).toEqual(output);
          }
          expect((await projectInMemory(stream, { evolve: broken })).output).toEqual(output);
        },
      ),
      { numRuns: 100 },
    );
  });

  test('takes its orders out of the book for good, and leaves them open; each is still in one of the two feeds', async () => {
    await fc.assert(
      fc.asyncProperty(streams, async (stream) => {
        const { orders, history, feeds } = (await projectInMemory(stream, { evolve: broken })).output;
        const shown = { book: new Set<string>(), makers: new Set<string>(), resume: new Set<string>() };
        const halted = new Set<string>();
        for (const { to, key, value, headers } of messagesOf(feeds)) {
          if (headers['removal'] === 'HALTED') halted.add(key);
          else if (to === 'book') expect(halted.has(key)).toBe(false);
          if (value === null) shown[to as keyof typeof shown].delete(key);
          else shown[to as keyof typeof shown].add(key);
        }
        const hashes = (inBook: boolean) => orders.filter((row) => row.inBook === inBook).map((row) => row.orderHash);
        expect([...shown.book].sort()).toEqual(hashes(true).sort());
        expect([...shown.resume].sort()).toEqual(hashes(false).sort());
        for (const hash of halted) {
          expect(poisoned.some((maker) => hash.startsWith(maker))).toBe(true);
          expect(history.filter((row) => row.orderHash === hash && row.happened === 'WITHHELD')).toHaveLength(1);
        }
      }),
      { numRuns: 150 },
    );
  });

  test('is parked once for each time that a maker is halted, and the maker is tried again after each fact about it', async () => {
    const [maker] = poisoned as [Address];
    const cause = { kind: 'request' as const, requestId: 'request' };
    const submit = (number: number) => ({ type: 'OrderSubmitted' as const, maker, ...orderOf(maker, number), cause });
    const blockAt = (seconds: number) => {
      const hash = orderOf(maker, 0).orderHash;
      return { type: 'BlockProcessed' as const, block: { number: seconds, hash, timestamp: startSeconds + seconds } };
    };
    const acceptedAtMs = startSeconds * 1000;
    const cancel = (number: number) => {
      const { orderHash } = orderOf(maker, number);
      return { type: 'OrderCancelled' as const, maker, orderHash, expiresAtSeconds: 4_000_000_000, cause };
    };
    // Number 2 expires after 120 s, number 6 after 320 s; both leave the book a minute earlier.
    const facts = [
      { ...submit(2), acceptedAtMs },
      { ...submit(6), acceptedAtMs },
      blockAt(59),
      ...Array.from({ length: 50 }, (_, index) => blockAt(60 + index)),
      // A fact: the next block looks again, in vain.
      { type: 'MakerAdmitted' as const, maker, cause: { kind: 'operator' as const, commandId: 'command' } },
      ...Array.from({ length: 50 }, (_, index) => blockAt(150 + index)),
      // What is wrong with the maker goes: the next block looks again, and all is well.
      cancel(2),
      blockAt(250),
      blockAt(330),
    ];
    const stream = facts.map((fact, index) => storedRecord(fact, { partition, offset: BigInt(index) }, acceptedAtMs));
    const after = async (count: number) => {
      const { parked, makers: rows } = (await projectInMemory(stream.slice(0, count), { evolve: broken })).output;
      return { parked, dueAtSeconds: rows[0]?.dueAtSeconds, haltedOffset: rows[0]?.haltedOffset };
    };
    expect(await after(3)).toEqual({ parked: [], dueAtSeconds: startSeconds + 60, haltedOffset: null });
    const halted = { parked: [{ maker, offset: 3n }], dueAtSeconds: null, haltedOffset: 3n };
    expect(await after(4)).toEqual(halted);
    expect(await after(53)).toEqual(halted);
    expect(await after(54)).toEqual({ ...halted, dueAtSeconds: 0 });
    expect(await after(55)).toEqual(halted);
    expect(await after(104)).toEqual(halted);
    const { output } = await projectInMemory(stream, { evolve: broken });
    expect(output.parked).toHaveLength(1);
    expect(output.halted.size).toBe(0);
    expect(output.orders).toEqual([]);
    expect(output.history.map(({ happened, reason, orderHash }) => [happened, reason, orderHash])).toEqual([
      ['OPENED', null, orderOf(maker, 2).orderHash],
      ['OPENED', null, orderOf(maker, 6).orderHash],
      ['WITHHELD', null, orderOf(maker, 2).orderHash],
      ['WITHHELD', null, orderOf(maker, 6).orderHash],
      ['REMOVED', 'CANCELLED', orderOf(maker, 2).orderHash],
      ['REMOVED', 'EXPIRED', orderOf(maker, 6).orderHash],
    ]);
  });
});
