import { expect, test } from '@jest/globals';
import { type BlockHeader, balanceOf, type StateCall } from '@makerbook/chain';
import type { Address } from '@makerbook/contracts-primitives';
import { Mutex } from '../mutex.js';
import { nodeOfBlocks } from '../testing/node-of-blocks.js';
import { WatchedSet } from '../watch/watched-set.js';
import type { Holder } from './holder.js';
import type { MakerReader } from './read-makers.js';
import { sweepPairs } from './sweep-pairs.js';

const token: Address = `0x${'88'.repeat(20)}`;
const makers = [1, 2, 3].map((n): Address => `0x${String(n).repeat(40)}`);

/** One turn of the sweep: the processed block, whether it is the matched one, and values that could not be read. */
interface Turn {
  readonly block?: number;
  readonly isMatched?: boolean;
  readonly suspects?: readonly StateCall[];
}

/** @returns the makers that each turn has read, and how long each wait was */
async function sweep(turns: readonly Turn[], pairsPerSecond = 1) {
  const { header } = nodeOfBlocks(100);
  const over = new AbortController();
  const watched = new WatchedSet();
  for (const [n, maker] of makers.entries()) {
    const orderHash = `0x${String(n + 1).repeat(64)}` as const;
    watched.add(
      { orderHash, maker, makingToken: token, takingToken: token, expiresAtSeconds: 9e9, walletSignature: null },
      undefined,
    );
  }
  const read: Address[][] = [];
  const waited: number[] = [];
  let suspects: readonly StateCall[] = [];
  const position = { phase: 'FOLLOWING', matched: header(1), processed: header(1) };
  const reader = {
    protocol: `0x${'99'.repeat(20)}`,
    onUnreadable: () => undefined,
    state: {
      suspects: () => new Map(suspects.entries()),
      read: async (_: string, calls: readonly StateCall[]) => {
        const asked = makers.filter((maker) => calls.some(({ data }) => data === balanceOf(token, maker).data));
        read.at(-1)?.push(...asked);
        return calls.map(() => 0n);
      },
      findContracts: async (_: string, addresses: readonly Address[]) => new Set(addresses),
    },
  };
  const work = {
    position,
    watched,
    settings: { SWEEP_PAIRS_PER_SECOND: pairsPerSecond },
    sweep: { startedAtMs: -7_200_000, tookMs: undefined, pairs: 0, facts: 0 },
    signal: over.signal,
    partitions: 1,
    followed: { partitions: [{ position: 0n }], until: async () => undefined },
    publisher: { publish: async () => new Map(), isBefore: () => true },
    readingBlocks: { choose: async (at: BlockHeader) => at },
    mutex: new Mutex(),
    monotonicMs: () => read.length,
    wait: async (ms: number) => {
      waited.push(ms);
      const turn = turns[read.length];
      if (turn === undefined) return over.abort();
      const { block = 1, isMatched = true } = turn;
      suspects = turn.suspects ?? [];
      Object.assign(position, { processed: header(block), matched: header(isMatched ? block : block + 1) });
      read.push([]);
    },
    retryFor: () => (once: () => unknown) => once(),
  };
  await sweepPairs(work as unknown as Holder, reader as unknown as MakerReader);
  return { read: read.map((some) => some.map((maker) => makers.indexOf(maker) + 1)), waited, sweep: work.sweep };
}

test('all makers are read in turn, over and over, and each sweep is counted', async () => {
  const { read, sweep: counted } = await sweep([{}, {}, {}, {}]);
  expect(read).toEqual([[1], [2], [3], [1]]);
  expect(counted).toMatchObject({ pairs: 4, startedAtMs: 3, tookMs: 3 });
});

test('the age of a sweep counts from the take-over, even if this watcher published long before', async () => {
  expect((await sweep([])).sweep).toMatchObject({ startedAtMs: 0 });
});

test('the configured number of pairs is read each second, and the rest of a sweep in the next one', async () => {
  const { read, waited } = await sweep([{}, {}, {}, {}], 2);
  expect(read).toEqual([[1, 2], [3], [1, 2], [3]]);
  expect(waited).toEqual([1000, 1000, 1000, 1000, 1000]);
});

test('a step that could not be read is repeated before the sweep goes on', async () => {
  const { read, sweep: counted } = await sweep([{}, { isMatched: false }, { isMatched: false }, {}, {}]);
  expect(read).toEqual([[1], [], [], [2], [3]]);
  expect(counted).toMatchObject({ pairs: 3, startedAtMs: 5, tookMs: 5 });
});

test('unreadable pairs are read again ten blocks later, or as soon after that as possible', async () => {
  const suspects = [balanceOf(token, makers[1] ?? token)];
  const turns = [
    { block: 1 },
    { block: 10 },
    { block: 11, isMatched: false },
    { block: 12 },
    { block: 21 },
    { block: 22 },
  ];
  const { read } = await sweep(
    turns.map((turn) => ({ ...turn, suspects })),
    0,
  );
  expect(read).toEqual([[2], [], [], [2], [], [2]]);
});
