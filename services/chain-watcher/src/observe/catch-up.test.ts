import { expect, test } from '@jest/globals';
import { type BlockHeader, type Node, RpcRefused } from '@makerbook/chain';
import { Mutex } from '../mutex.js';
import { nodeOfBlocks } from '../testing/node-of-blocks.js';
import { WatchedSet } from '../watch/watched-set.js';
import { catchUpAtHead } from './catch-up.js';
import type { Holder, Position } from './holder.js';

/** Catches up from block 5 to the head of this node. */
async function catchUp(node: Node, head: BlockHeader, position: Position) {
  const work = {
    position,
    node,
    reader: { protocol: `0x${'99'.repeat(20)}`, state: { read: async () => [] } },
    watched: new WatchedSet(),
    followed: { newestRead: 5 },
    publisher: { publish: async () => new Map(), publishBlock: async () => undefined },
    partitions: 1,
    readingBlocks: { choose: async (at: BlockHeader) => at },
    mutex: new Mutex(),
    signal: new AbortController().signal,
    retryFor: () => (once: () => unknown) => once(),
    onBlock: () => undefined,
    onCatchUp: () => undefined,
  };
  expect(await catchUpAtHead(work as unknown as Holder, nodeOfBlocks(9).header(5))).toEqual(head);
}
const begin = (): Position => {
  return { phase: 'CATCHING_UP', matched: undefined, processed: undefined, catchUp: undefined };
};

/** The node, and what is done before it answers for a range of logs. */
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
  // It remembers what is given.
  expect(ranges.length).toBeLessThan(10);
});
