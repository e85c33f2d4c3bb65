import { expect, test } from '@jest/globals';
import type { BlockHeader } from '@makerbook/chain';
import { Mutex } from '../mutex.js';
import { nodeOfBlocks } from '../testing/node-of-blocks.js';
import { WatchedSet } from '../watch/watched-set.js';
import { catchUpAtHead } from './catch-up.js';
import type { HolderWork, Position } from './holder-work.js';

test('an order that comes while missed logs are matched is read at the head or later', async () => {
  const position: Position = { phase: 'CATCHING_UP', matched: undefined, processed: undefined, catchUp: undefined };
  const { node, header } = nodeOfBlocks(9);
  const matchedThen: unknown[] = [];
  const work = {
    position,
    node: {
      ...node,
      callAll: (...call: Parameters<typeof node.callAll>) => {
        if (call[0].some(({ method }) => method === 'eth_getLogs')) matchedThen.push(position.matched?.number);
        return node.callAll(...call);
      },
    },
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
  expect(await catchUpAtHead(work as unknown as HolderWork, header(5))).toEqual(header(9));
  expect(matchedThen).toEqual([9]);
});
