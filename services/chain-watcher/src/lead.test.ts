import { expect, test } from '@jest/globals';
import { type LeadOptions, lead } from './lead.js';

/** Has a watcher take over this many times without publishing a block. Returns when, in milliseconds. */
async function takeOvers(times: number, followed: { newest: number; isResigned: boolean }): Promise<number[]> {
  const ending = new AbortController();
  const heldAtMs: number[] = [];
  let nowMs = 0;
  const options: unknown = {
    signal: ending.signal,
    monotonicMs: () => nowMs,
    random: () => 0,
    wait: async (ms: number) => {
      nowMs += ms;
    },
    settings: { TAKEOVER_MS: 2_000 },
    source: { headNumber: () => 8 },
    followed: {
      newestNumber: () => followed.newest,
      isResigned: followed.isResigned,
      lastPollAtMs: () => nowMs,
    },
    publish: async () => {
      heldAtMs.push(nowMs);
      if (heldAtMs.length === times) ending.abort();
    },
  };
  await lead(options as LeadOptions);
  return heldAtMs;
}

test('a watcher waits twice as long after each take-over without a block, up to 128 times as long', async () => {
  const heldAtMs = await takeOvers(10, { newest: 7, isResigned: false });
  const pauses = heldAtMs.map((atMs, n) => atMs - (heldAtMs[n - 1] ?? 0));
  expect(pauses.map((ms) => ms / 2_000)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 128, 128]);
});

test('a watcher begins at once if the holder has resigned or no block was ever processed', async () => {
  expect(await takeOvers(1, { newest: 7, isResigned: true })).toEqual([0]);
  expect(await takeOvers(1, { newest: -1, isResigned: false })).toEqual([0]);
});
