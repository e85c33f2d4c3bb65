import { expect, test } from '@jest/globals';
import { type BlockHeader, SIGNATURE_ACCEPTED, type StateCall } from '@makerbook/chain';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { nodeOfBlocks } from '../testing/node-of-blocks.js';
import { WatchedSet } from '../watch/watched-set.js';
import { askWallets } from './ask-wallets.js';
import type { Holder } from './holder.js';
import type { MakerReader } from './read-makers.js';

const token: Address = `0x${'88'.repeat(20)}`;
const makers = [1, 2].map((n): Address => `0x${String(n).repeat(40)}`);
const hashOf = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`;
const SIGNATURE: Hex = '0x51';

interface Scene {
  /** How many orders each wallet has. */
  readonly orders: readonly number[];
  readonly areNew?: boolean;
  readonly sweepPerSecond?: number;
  /** The block to read at, if not the matched one. */
  readonly readAt?: number;
  /** How long a request takes. */
  readonly tookMs?: number;
  readonly untilMs: number;
  /** Called while the n-th request is in flight. */
  readonly during?: (watched: WatchedSet, request: number) => void;
}

/** @returns the requests, each as its maker's index and its number of orders, and how long each wait was */
async function ask({ orders, areNew = true, sweepPerSecond = 0, readAt, tookMs = 10, untilMs, during }: Scene) {
  const { header } = nodeOfBlocks(100);
  const over = new AbortController();
  const watched = new WatchedSet();
  let [nowMs, number] = [0, 0];
  for (const [n, count] of orders.entries()) {
    for (let nth = 0; nth < count; nth += 1) {
      const of = { maker: makers[n] ?? token, makingToken: token, takingToken: token, expiresAtSeconds: 9e9 };
      number += 1;
      const unread = areNew ? { sinceMs: 0, trace: undefined } : undefined;
      watched.add({ ...of, orderHash: hashOf(number), walletSignature: SIGNATURE }, unread);
    }
  }
  const asked: string[] = [];
  const waited: number[] = [];
  const wait = async (ms: number) => {
    waited.push(ms);
    nowMs += ms;
    if (nowMs >= untilMs) over.abort();
  };
  const reader = {
    state: {
      readAlone: async (_: Hex, calls: readonly StateCall[]) => {
        nowMs += tookMs;
        const [first] = calls;
        asked.push(`${makers.indexOf(first?.to ?? token)}: ${calls.length}`);
        during?.(watched, asked.length);
        return calls.map(() => SIGNATURE_ACCEPTED);
      },
    },
  };
  const work = {
    watched,
    position: { phase: 'FOLLOWING', matched: header(5) },
    settings: { SWEEP_PAIRS_PER_SECOND: sweepPerSecond },
    signal: over.signal,
    // Never resolve unless the condition holds already.
    followed: { until: (isSo: () => boolean) => (isSo() ? Promise.resolve() : new Promise(() => undefined)) },
    readingBlocks: { choose: async (at: BlockHeader) => (readAt === undefined ? at : header(readAt)) },
    monotonicMs: () => nowMs,
    wait,
    retryFor: () => (once: () => unknown) => once(),
  };
  await askWallets(work as unknown as Holder, reader as unknown as MakerReader);
  return { asked, waited, watched };
}

test('wallets are asked in turn, some orders at a time, and the node rests as long as it has worked', async () => {
  const { asked, waited, watched } = await ask({ orders: [100, 3], untilMs: 80 });
  expect(asked).toEqual(['0: 40', '1: 3', '0: 40', '0: 20']);
  expect(waited).toEqual([10, 10, 10, 10]);
  expect(watched.unread.size).toBe(103);
});

test('an answer is dropped if its wallet has changed meanwhile, and the wallet is asked again', async () => {
  const change = (watched: WatchedSet, request: number) => {
    const wallet = watched.findMaker(makers[0] ?? token);
    if (request === 1 && wallet !== undefined) watched.wallets.forget(wallet, 5 + 1, 0);
  };
  const { asked, watched } = await ask({ orders: [1], untilMs: 60, during: change });
  // The block with the change is not matched here: no answer counts.
  expect(asked).toEqual(['0: 1', '0: 1', '0: 1']);
  expect([watched.unread.size, watched.wallets.unasked().orders]).toEqual([0, 1]);
});

test('no wallet is asked at a block beyond the matched one, and the loop still pauses', async () => {
  const { asked, waited } = await ask({ orders: [1], readAt: 9, untilMs: 1000 });
  expect([asked, waited]).toEqual([[], [500, 500]]);
});

test('wallets that have answered are asked again and again, at the configured rate', async () => {
  const { asked, watched } = await ask({ orders: [3], areNew: false, sweepPerSecond: 2, untilMs: 5000 });
  expect(asked).toEqual(['0: 2', '0: 1', '0: 2', '0: 1', '0: 2']);
  expect(watched.unread.size).toBe(0);
});

test('a wallet that has answered is asked again even while another one always has unasked orders', async () => {
  const more = (watched: WatchedSet) => {
    const wallet = watched.findMaker(makers[1] ?? token);
    if (wallet !== undefined) watched.wallets.forget(wallet, 5, 0);
  };
  const { asked } = await ask({ orders: [1, 1], areNew: false, sweepPerSecond: 1, untilMs: 5000, during: more });
  expect(asked.filter((each) => each.startsWith('0')).length).toBeGreaterThan(1);
});
