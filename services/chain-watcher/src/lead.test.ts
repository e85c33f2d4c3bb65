import { expect, test } from '@jest/globals';
import { type LeadOptions, lead } from './lead.js';

test('a watcher waits twice as long with each take-over that led to no block, up to 128 times', async () => {
  const ending = new AbortController();
  const heldAtMs: number[] = [];
  let nowMs = 0;
  const options: unknown = {
    signal: ending.signal,
    nowMs: () => nowMs,
    random: () => 0,
    wait: async (ms: number) => {
      nowMs += ms;
    },
    settings: { TAKEOVER_MS: 2_000 },
    source: { headNumber: () => 8 },
    followed: { newestNumber: () => 7, isResigned: false, lastPollAtMs: () => nowMs },
    hold: async () => {
      heldAtMs.push(nowMs);
      if (heldAtMs.length === 10) ending.abort();
    },
  };
  await lead(options as LeadOptions);
  const pauses = heldAtMs.map((atMs, n) => atMs - (heldAtMs[n - 1] ?? 0));
  expect(pauses.map((ms) => ms / 2_000)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 128, 128]);
});
