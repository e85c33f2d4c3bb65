import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type FeedTopics, packFeeds, unpackFeeds } from './publish-feeds.js';
import { factStreams, makersOf, withLateBlocks } from './testing/generate-facts.js';
import { projectInMemory, testPartition, testPartitions, topics } from './testing/project-in-memory.js';

const partition = testPartition;
type FeedName = keyof FeedTopics;
const makers = makersOf(partition, testPartitions, 2);

const streams = factStreams(makers, partition, { min: 1, max: 160, orders: 5 });
/** Many makers, and blocks that make several of them due. */
const crowdedStreams = factStreams(makersOf(partition, testPartitions, 6), partition, {
  min: 60,
  max: 200,
  orders: 8,
}).map((stream) => withLateBlocks(stream, [120, 200, 290, 400]));

describe('the fold of a partition', () => {
  test('any cut into batches, with and without makers kept in memory, gives the same rows, history and feed bytes', async () => {
    await fc.assert(
      fc.asyncProperty(
        streams,
        fc.array(fc.integer({ min: 1, max: 25 }), { minLength: 1, maxLength: 8 }),
        async (stream, lengths) => {
          const { output } = await projectInMemory(stream, { lengthOf: () => 1, keep: false });
          const lengthOf = (batch: number) => lengths[batch % lengths.length] ?? 1;
          expect((await projectInMemory(stream, { lengthOf, keep: true })).output).toEqual(output);
          expect((await projectInMemory(stream, { lengthOf, keep: false })).output).toEqual(output);
          expect((await projectInMemory(stream, {})).output).toEqual(output);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('and so does any cut of the blocks into slices, each by another process', async () => {
    let slicedBlocks = 0;
    await fc.assert(
      fc.asyncProperty(
        crowdedStreams,
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 60 }),
        async (stream, ordersMax, length) => {
          const { output } = await projectInMemory(stream, { lengthOf: () => 1, keep: false });
          for (const keep of [true, false]) {
            const sliced = await projectInMemory(stream, { lengthOf: () => length, keep, ordersMax });
            expect(sliced.output).toEqual(output);
            slicedBlocks += sliced.slicedBlocks;
          }
        },
      ),
      { numRuns: 100 },
    );
    expect(slicedBlocks).toBeGreaterThan(100);
  });

  test('every open order stands in the book or is withheld, and no other order does', async () => {
    await fc.assert(
      fc.asyncProperty(streams, async (stream) => {
        const { orders, feeds } = (await projectInMemory(stream, {})).output;
        const shown = { book: new Set<string>(), makers: new Set<string>(), resume: new Set<string>() };
        for (const { to, key, value } of JSON.parse(feeds.replaceAll('][', ',') || '[]')) {
          if (value === null) shown[to as FeedName].delete(key);
          else shown[to as FeedName].add(key);
        }
        const keysOf = (inBook: boolean) =>
          orders.filter((order) => order.inBook === inBook).map(({ orderHash }) => orderHash);
        expect([...shown.book].sort()).toEqual(keysOf(true).sort());
        expect([...shown.resume].sort()).toEqual(keysOf(false).sort());
      }),
      { numRuns: 300 },
    );
  });

  test('what is stored reads back as what was folded', async () => {
    await fc.assert(
      fc.asyncProperty(streams, async (stream) => {
        const { orders, history } = (await projectInMemory(stream, { lengthOf: () => 7 })).output;
        const opened = history.filter(({ happened }) => happened === 'OPENED').map(({ orderHash }) => orderHash);
        const removed = new Set(
          history.filter(({ happened }) => happened === 'REMOVED').map(({ orderHash }) => orderHash),
        );
        // Accepted once, removed once at most, and stored in between.
        expect(new Set(opened).size).toBe(opened.length);
        expect(orders.map(({ orderHash }) => orderHash).sort()).toEqual(
          opened.filter((orderHash) => !removed.has(orderHash)).sort(),
        );
        for (const order of orders) expect(BigInt(order.remaining)).toBeGreaterThan(0n);
      }),
    );
  });

  test('the feed ends with an entry for each routable order and a tombstone for every other one', async () => {
    await fc.assert(
      fc.asyncProperty(streams, async (stream) => {
        const { feeds, orders, history } = (await projectInMemory(stream, { lengthOf: () => 5 })).output;
        const newest = new Map<string, string | null>();
        for (const [packed] of JSON.parse(`[${feeds.replaceAll('][', '],[')}]`)) {
          if (packed.to === 'book') newest.set(packed.key, packed.value);
        }
        const inBook = orders.filter((order) => order.inBook).map(({ orderHash }) => orderHash);
        expect(
          [...newest]
            .filter(([, value]) => value !== null)
            .map(([key]) => key)
            .sort(),
        ).toEqual(inBook.sort());
        for (const key of newest.keys()) expect(history.some(({ orderHash }) => orderHash === key)).toBe(true);
      }),
    );
  });

  test('no two feed messages of a partition share an id', async () => {
    await fc.assert(
      fc.asyncProperty(streams, async (stream) => {
        const { feeds } = (await projectInMemory(stream, { lengthOf: () => 9 })).output;
        const ids = [...feeds.matchAll(/"ce_id":"([^"]+)"/g)].map(([, id]) => id);
        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });

  test('packed feeds unpack to the same messages', () => {
    const records = [
      { topic: topics.book, partition, key: '0x1', value: Buffer.from('{"a":"ä"}'), headers: { a: 'ü' } },
      { topic: topics.book, partition, key: '0x1', value: null, headers: { removal: 'EXPIRED' } },
      { topic: topics.makers, partition, key: '0x2', value: Buffer.from('{}'), headers: {} },
    ];
    expect(unpackFeeds(packFeeds(records, topics), partition, topics)).toEqual(records);
  });
});
