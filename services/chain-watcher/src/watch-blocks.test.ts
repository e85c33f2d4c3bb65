import { expect, test } from '@jest/globals';
import type { BlockHeader, Node } from '@makerbook/chain';
import type { BlockRef } from '@makerbook/contracts-events';
import type { WatcherState } from './keep-position.js';
import { ReadPoint } from './keep-read-point.js';
import { WatchedSet } from './keep-watched-set.js';
import { Turns } from './take-turns.js';
import { watchBlocks } from './watch-blocks.js';

const header = (number: number): BlockHeader => ({
  number,
  hash: `0x${number.toString(16).padStart(64, '0')}`,
  parentHash: `0x${(number - 1).toString(16).padStart(64, '0')}`,
  timestamp: number,
});

test('a block is matched only once the log is read up to the block before it: an order in between is watched by then', async () => {
  const stopping = new AbortController();
  const { signal } = stopping;
  const node = {
    callAll: async (_: unknown, read: (answers: unknown[], endpoint: string) => unknown) =>
      read([header(7), header(9)], 'node'),
  } as unknown as Node;
  const watched = new WatchedSet(1);
  watched.apply(0, { type: 'BlockProcessed', block: header(7) }, 0n);
  const state: WatcherState = {
    phase: 'READING_LOG',
    matched: undefined,
    processed: undefined,
    catchUp: undefined,
  };
  let follow: (blockNumber: number) => void = () => undefined;
  const published: BlockRef[] = [];
  const watching = watchBlocks({
    node,
    source: {
      next: async (number) => (number > 9 ? undefined : { header: header(number), logs: [] }),
      waitForMore: () => new Promise((resolve) => setTimeout(resolve, 1)),
      headNumber: () => 9,
      stop: async () => undefined,
    },
    watched,
    log: {
      caughtUp: Promise.resolve(),
      // The log is behind: it is read up to a block only when the test says so.
      reached: (blockNumber) =>
        new Promise((resolve) => {
          follow = (read) => {
            if (read >= blockNumber) resolve();
          };
        }),
      awaited: () => [],
      counts: () => ({ records: 0, unreadable: 0 }),
      lastPollAtMs: () => 0,
      stop: async () => undefined,
    },
    publisher: {
      publish: async () => undefined,
      publishBlock: async (_facts, block) => {
        published.push(block);
      },
    },
    reader: undefined,
    orders: undefined,
    partitions: 1,
    turns: new Turns(),
    readPoint: new ReadPoint({ node, nowMs: () => 0, stateBlocksMax: 100 }),
    state,
    signal,
    nowMs: () => 0,
    retry: (work) => work(),
    onBlock: () => undefined,
    onCatchUp: () => undefined,
    catchUpBlocksMax: 100,
  });
  const turn = () => new Promise((resolve) => setTimeout(resolve, 20));
  await turn();
  expect([state.matched?.number, published]).toEqual([7, []]);
  follow(7);
  await turn();
  expect([state.matched?.number, published.map(({ number }) => number)]).toEqual([8, [8]]);
  await turn();
  expect(state.matched?.number).toBe(8);
  follow(8);
  await turn();
  expect([state.matched?.number, published.map(({ number }) => number)]).toEqual([9, [8, 9]]);
  stopping.abort();
  await watching;
});
