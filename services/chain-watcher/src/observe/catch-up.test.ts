import { expect, test } from '@jest/globals';
import { type BlockHeader, type Node, RpcRefused } from '@makerbook/chain';
import { eventTopics } from '@makerbook/contracts-evm';
import type { Hex } from '@makerbook/contracts-primitives';
import { Mutex } from '../mutex.js';
import type { Observed } from '../publish/publish-observed.js';
import { nodeOfBlocks } from '../testing/node-of-blocks.js';
import { WatchedSet } from '../watch/watched-set.js';
import { catchUpAtHead } from './catch-up.js';
import type { Holder, Position } from './holder.js';

const protocol = `0x${'99'.repeat(20)}` as const;

/** Catches up from block 5 to the node's head. @returns the published readings */
async function catchUp(node: Node, head: BlockHeader, position: Position, watched = new WatchedSet()) {
  const published: Observed[] = [];
  const work = {
    position,
    node,
    reader: { protocol, state: { read: async () => [] } },
    watched,
    followed: { newestRead: 5 },
    publisher: {
      publish: async (readings: Observed[]) => published.push(...readings),
      publishBlock: async () => undefined,
    },
    partitions: 1,
    readingBlocks: { choose: async (at: BlockHeader) => at },
    mutex: new Mutex(),
    signal: new AbortController().signal,
    retryFor: () => (once: () => unknown) => once(),
    onBlock: () => undefined,
    onCatchUp: () => undefined,
  };
  expect(await catchUpAtHead(work as unknown as Holder, nodeOfBlocks(9).header(5))).toEqual(head);
  return published;
}
const begin = (): Position => {
  return { phase: 'CATCHING_UP', matched: undefined, processed: undefined, catchUp: undefined };
};

/** The node, with a callback that runs before it answers for a range of logs. */
function onLogs({ node }: ReturnType<typeof nodeOfBlocks>, before: (from: number, to: number) => void): Node {
  const callAll: Node['callAll'] = async (requests, read) => {
    for (const { method, params } of requests) {
      const { fromBlock, toBlock } = (params[0] ?? {}) as { fromBlock?: string; toBlock?: string };
      if (method === 'eth_getLogs') before(Number(fromBlock), Number(toBlock));
    }
    return node.callAll(requests, read);
  };
  return { ...node, callAll };
}

test('an order that comes while missed logs are matched is read at the head or later', async () => {
  const position = begin();
  const chain = nodeOfBlocks(9);
  const matchedThen: unknown[] = [];
  const node = onLogs(chain, () => matchedThen.push(position.matched?.number));
  await catchUp(node, chain.header(9), position);
  expect(matchedThen).toEqual([9]);
});

test('a node that refuses a range of logs is asked for halves of it, and nothing is missed', async () => {
  const chain = nodeOfBlocks(307);
  const ranges: { from: number; to: number }[] = [];
  const node = onLogs(chain, (from, to) => {
    ranges.push({ from, to });
    if (to - from + 1 > 100) throw new RpcRefused('eth_getLogs', -32005, 'query exceeds the range of 100 blocks');
  });
  await catchUp(node, chain.header(307), begin());
  expect(ranges.slice(0, 3).map(({ from, to }) => to - from + 1)).toEqual([302, 151, 76]);
  const given = ranges.filter(({ from, to }) => to - from + 1 <= 100);
  expect(given.map(({ from }) => from)).toEqual([6, ...given.slice(0, -1).map(({ to }) => to + 1)]);
  expect(given.at(-1)?.to).toBe(307);
  // The watcher remembers how many blocks the node gives at once.
  expect(ranges.length).toBeLessThan(10);
});

test('if a block has too many logs for the node, they come from the block’s receipts', async () => {
  const [maker, token] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`] as const;
  const word = (account: Hex): Hex => `0x${account.slice(2).padStart(64, '0')}`;
  const at = { blockNumber: 7, blockHash: word('0x'), transactionHash: word('0x33'), data: word('0x1') };
  const amounts: Hex = `0x${'1'.padStart(64, '0').repeat(4)}`;
  const filled = [eventTopics.orderFilled, word(maker), word('0x44')];
  const chain = nodeOfBlocks(9, [
    { ...at, address: token, topics: [eventTopics.transfer, word(maker), word('0x1')], logIndex: 1 },
    { ...at, address: protocol, topics: filled, data: amounts, logIndex: 0 },
  ]);
  const node = onLogs(chain, (from, to) => {
    const isOfSeven = Number.isNaN(from) || (from <= 7 && to >= 7);
    if (isOfSeven) throw new RpcRefused('eth_getLogs', -32000, 'query returned more than 10000 results');
  });
  const watched = new WatchedSet();
  watched.know([maker]);
  const [reading] = await catchUp(node, chain.header(9), begin(), watched);
  expect(reading?.fact).toMatchObject({ maker, fills: [{ orderHash: word('0x44'), makingToken: token }] });
});
