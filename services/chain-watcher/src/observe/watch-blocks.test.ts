import { expect, test } from '@jest/globals';
import { type BlockHeader, ChainContradiction } from '@makerbook/chain';
import type { Address } from '@makerbook/contracts-primitives';
import { partitionOf } from '@makerbook/kafka';
import { Mutex } from '../mutex.js';
import type { Observed } from '../publish/publish-observed.js';
import { nodeOfBlocks } from '../testing/node-of-blocks.js';
import { WatchedSet } from '../watch/watched-set.js';
import type { HolderWork } from './holder-work.js';
import { watchBlocks } from './watch-blocks.js';

const partitions = 2;
const addresses = Array.from({ length: 20 }, (_, n): Address => `0x${String(n + 10).repeat(20)}`);
const makerIn = (partition: number) => addresses.find((each) => partitionOf(each, partitions) === partition) as Address;

/** Watches block 6, of which the partitions have these blocks. @returns what was published */
async function watch(blocks: readonly (Partial<BlockHeader> | undefined)[], watched = new WatchedSet()) {
  const { node, header } = nodeOfBlocks(6);
  const over = new AbortController();
  const published: unknown[] = [];
  const work = {
    node,
    reader: {
      protocol: `0x${'99'.repeat(20)}`,
      state: {
        read: async (_: string, calls: unknown[]) => calls.map(() => 0n),
        findContracts: async (_: string, addresses: readonly Address[]) => new Set(addresses),
      },
    },
    source: {
      headNumber: () => 6,
      next: async (number: number) => ({ header: header(number), logs: [], endpoint: 'node' }),
    },
    watched,
    followed: {
      partitions: blocks.map((block) => ({ block })),
      oldestBlock: () => header(5),
      newestBlock: () => header(5),
      newestNumber: () => 5,
      takeMissed: () => Number.POSITIVE_INFINITY,
    },
    publisher: {
      publish: async () => new Map(),
      publishBlock: async (observed: readonly Observed[], block: BlockHeader, to: readonly number[]) => {
        published.push([block.number, to, observed.map(({ fact }) => [fact.maker, fact.orders.length])]);
        over.abort();
      },
    },
    partitions,
    position: { phase: 'CATCHING_UP', matched: undefined, processed: undefined, catchUp: undefined },
    settings: { CATCH_UP_BLOCKS_MAX: 100 },
    readingBlocks: { choose: async (at: BlockHeader) => at },
    mutex: new Mutex(),
    signal: over.signal,
    nowMs: () => 0,
    retryFor: () => (once: () => unknown) => once(),
    onBlock: () => undefined,
  };
  await watchBlocks(work as unknown as HolderWork).catch((error: Error) => published.push(error));
  return published;
}

test('the first block of a partition reads all of its makers, for their readings may be of blocks that nobody knows', async () => {
  const { header } = nodeOfBlocks(6);
  const watched = new WatchedSet();
  for (const [n, maker] of [makerIn(0), makerIn(1)].entries()) {
    const orderHash = `0x${String(n + 1).repeat(64)}` as const;
    const makingToken = `0x${'88'.repeat(20)}` as const;
    watched.add(
      { orderHash, maker, makingToken, takingToken: maker, expiresAtSeconds: 9e9, walletSignature: null },
      undefined,
    );
  }
  expect(await watch([header(5), undefined], watched)).toEqual([[6, [0, 1], [[makerIn(1), 1]]]]);
});

test('a partition that has the block needs it no more, and one that has another block of its number halts the watcher', async () => {
  const { header } = nodeOfBlocks(6);
  expect(await watch([header(5), header(6)])).toEqual([[6, [0], []]]);
  const other = { ...header(6), hash: `0x${'ee'.repeat(32)}` } as const;
  expect(await watch([header(5), other])).toEqual([expect.any(ChainContradiction)]);
});
