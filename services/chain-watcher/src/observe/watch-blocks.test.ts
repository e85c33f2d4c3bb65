import { expect, test } from '@jest/globals';
import { type BlockHeader, ChainContradiction, type ChainLog } from '@makerbook/chain';
import { eventTopics } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { partitionOf } from '@makerbook/kafka';
import { Mutex } from '../mutex.js';
import type { Observed } from '../publish/publish-observed.js';
import { nodeOfBlocks } from '../testing/node-of-blocks.js';
import { WatchedSet } from '../watch/watched-set.js';
import type { Holder } from './holder.js';
import { watchBlocks } from './watch-blocks.js';

const partitions = 2;
const addresses = Array.from({ length: 20 }, (_, n): Address => `0x${String(n + 10).repeat(20)}`);
const makerIn = (partition: number) => addresses.find((each) => partitionOf(each, partitions) === partition) as Address;

const protocol: Address = `0x${'99'.repeat(20)}`;
const word = (value: string): Hex => `0x${value.padStart(64, '0')}`;

/** A fill of one of the maker's orders, which is not open. */
function fillOf(maker: Address, blockNumber: number, logIndex: number): ChainLog {
  const topics = [eventTopics.orderFilled, word(maker.slice(2)), word('aa')];
  const blockHash = nodeOfBlocks(blockNumber).header(blockNumber).hash;
  const data: Hex = `0x${word('1').slice(2).repeat(4)}`;
  return { address: protocol, topics, data, blockNumber, blockHash, transactionHash: word('bb'), logIndex };
}

/** Watches block 6, with these blocks in the partitions. @returns what was published, fills by their blocks */
async function watch(
  blocks: readonly (Partial<BlockHeader> | undefined)[],
  watched = new WatchedSet(),
  logs: readonly ChainLog[] = [],
) {
  const { node, header } = nodeOfBlocks(6, logs);
  const over = new AbortController();
  const published: unknown[] = [];
  const noteFills = (observed: readonly Observed[]) => {
    for (const { fact } of observed) {
      const fills = fact.fills?.map(({ blockNumber }) => blockNumber);
      if (fills !== undefined) published.push([fact.maker, fact.block.number, fills]);
    }
  };
  const work = {
    node,
    reader: {
      protocol,
      state: {
        read: async (_: string, calls: unknown[]) => calls.map(() => 0n),
        findContracts: async (_: string, addresses: readonly Address[]) => new Set(addresses),
      },
    },
    source: {
      headNumber: () => 6,
      next: async (number: number) => ({
        header: header(number),
        logs: logs.filter(({ blockNumber }) => blockNumber === number),
        endpoint: 'node',
      }),
    },
    watched,
    followed: {
      partitions: blocks.map((block) => ({ block })),
      oldestBlock: () => header(5),
      newestBlock: () => header(Math.max(5, ...blocks.map((block) => block?.number ?? 5))),
      takeMissed: () => ({ from: Number.POSITIVE_INFINITY, makers: new Set() }),
    },
    publisher: {
      publish: async (observed: readonly Observed[]) => noteFills(observed),
      publishBlock: async (observed: readonly Observed[], block: BlockHeader, to: readonly number[]) => {
        noteFills(observed);
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
    monotonicMs: () => 0,
    retryFor: () => (once: () => unknown) => once(),
    onBlock: () => undefined,
  };
  await watchBlocks(work as unknown as Holder).catch((error: Error) => published.push(error));
  return published;
}

test('the first block of a partition has all its makers read, whatever was read of them before', async () => {
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

test('a partition is not sent a block that it has; if it has another of that number, the watcher halts', async () => {
  const { header } = nodeOfBlocks(6);
  expect(await watch([header(5), header(6)])).toEqual([[6, [0], []]]);
  const other = { ...header(6), hash: `0x${'ee'.repeat(32)}` } as const;
  expect(await watch([header(5), other])).toEqual([expect.any(ChainContradiction)]);
});

test('fills that the last holder missed are published first, also if a partition has the block already', async () => {
  const { header } = nodeOfBlocks(6);
  const watched = new WatchedSet();
  const [behind, ahead] = [makerIn(0), makerIn(1)];
  watched.know([behind, ahead]);
  const fills = [behind, ahead].flatMap((maker, n) => [fillOf(maker, 3, n), fillOf(maker, 6, n)]);
  expect(await watch([header(5), header(6)], watched, fills)).toEqual([
    [behind, 6, [3, 6]],
    // This partition takes no readings of block 5, and is not sent block 6 again.
    [ahead, 6, [3, 6]],
    [behind, 6, [6]],
    [6, [0], [[behind, 0]]],
  ]);
});
