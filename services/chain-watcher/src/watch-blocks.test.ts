import { expect, test } from '@jest/globals';
import type { BlockHeader, Node } from '@makerbook/chain';
import type { MakerFact } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-evm';
import type { WatcherState } from './keep-position.js';
import { ReadPoint } from './keep-read-point.js';
import { WatchedSet } from './keep-watched-set.js';
import type { FactReader } from './read-facts.js';
import { Turns } from './take-turns.js';
import { watchBlocks } from './watch-blocks.js';

const header = (number: number): BlockHeader => ({
  number,
  hash: `0x${number.toString(16).padStart(64, '0')}`,
  parentHash: `0x${(number - 1).toString(16).padStart(64, '0')}`,
  timestamp: number,
});

/** A watcher that resumes at block 7 of a chain of 9, whose log is read up to a block when the test says so. */
function startWatching(watched: WatchedSet, reader?: FactReader) {
  const stopping = new AbortController();
  const node = {
    callAll: async (_: unknown, read: (answers: unknown[], endpoint: string) => unknown) =>
      read([header(7), header(9)], 'node'),
  } as unknown as Node;
  watched.apply(0, { type: 'BlockProcessed', block: header(7) }, 0n);
  const state: WatcherState = { phase: 'READING_LOG', matched: undefined, processed: undefined, catchUp: undefined };
  let follow: (blockNumber: number) => void = () => undefined;
  const blocks: number[] = [];
  const facts: MakerFact[] = [];
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
      publish: async (read) => {
        facts.push(...read);
      },
      publishBlock: async (_facts, block) => {
        blocks.push(block.number);
      },
    },
    reader,
    orders: undefined,
    partitions: 1,
    turns: new Turns(),
    readPoint: new ReadPoint({ node, nowMs: () => 0, stateBlocksMax: 100 }),
    state,
    signal: stopping.signal,
    nowMs: () => 0,
    retry: (work) => work(),
    onBlock: () => undefined,
    onCatchUp: () => undefined,
    catchUpBlocksMax: 100,
  });
  const turn = () => new Promise((resolve) => setTimeout(resolve, 20));
  return {
    facts,
    follow: async (blockNumber: number) => {
      follow(blockNumber);
      await turn();
    },
    where: () => [state.matched?.number, blocks],
    begun: turn(),
    stop: async () => {
      stopping.abort();
      await watching;
    },
  };
}

test('a block is matched only once the log is read up to the block before it: an order in between is watched by then', async () => {
  const watching = startWatching(new WatchedSet(1));
  await watching.begun;
  expect(watching.where()).toEqual([7, []]);
  await watching.follow(7);
  expect(watching.where()).toEqual([8, [8]]);
  await watching.follow(7);
  expect(watching.where()).toEqual([8, [8]]);
  await watching.follow(8);
  expect(watching.where()).toEqual([9, [8, 9]]);
  await watching.stop();
});

test('a value that comes late into the log is read again, though no further block comes', async () => {
  const maker: Address = `0x${'a'.repeat(40)}`;
  const token: Address = `0x${'b'.repeat(40)}`;
  const cause = { kind: 'read', occasion: 'ORDER' } as const;
  const watched = new WatchedSet(1);
  const watching = startWatching(watched, {
    state: { read: async () => [5n, 6n], suspects: () => new Map() },
    protocol: `0x${'c'.repeat(40)}`,
    onUnreadable: () => undefined,
  });
  watched.apply(
    0,
    {
      type: 'OrderSubmitted',
      maker,
      orderHash: header(1).hash,
      order: {
        salt: '0x0',
        nonce: '0x0',
        expiresAt: '0xffffffff',
        making: { token, amount: '0x1' },
        taking: { token, amount: '0x1' },
        maker,
        permittedTaker: `0x${'0'.repeat(40)}`,
      },
      signature: `0x${'0'.repeat(130)}`,
      acceptedAtMs: 0,
      cause,
    },
    1n,
  );
  await watching.begun;
  await watching.follow(7);
  await watching.follow(8);
  expect(watching.facts).toEqual([]);
  watched.apply(0, { type: 'BalanceChanged', maker, token, balance: '0x1', block: header(8), cause }, 2n);
  await watching.follow(9);
  expect(watching.facts).toMatchObject([
    { type: 'AllowanceChanged', allowance: '0x5', block: { number: 9 } },
    { type: 'BalanceChanged', balance: '0x6', block: { number: 9 } },
  ]);
  await watching.stop();
});
