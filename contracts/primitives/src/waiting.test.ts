import { expect, test } from '@jest/globals';
import { pause, retry } from './index.js';

test('an abort ends a pause, under way or not begun', async () => {
  const over = new AbortController();
  const paused = pause(1_000_000, over.signal);
  over.abort();
  await paused;
  await pause(1_000_000, over.signal);
});

test('work is repeated with pauses that double up to the longest, until it succeeds', async () => {
  const pauses: number[] = [];
  const wait = async (ms: number) => void pauses.push(ms);
  const work = async () => (pauses.length < 4 ? Promise.reject(new Error('away')) : 'done');
  expect(await retry(work, { mayRepeat: () => true, wait, firstMs: 100, pauseMsMax: 300 })).toBe('done');
  expect(pauses).toEqual([100, 200, 300, 300]);
});

test('what may not be repeated is thrown, and so is the last failure after an abort', async () => {
  const over = new AbortController();
  let tries = 0;
  const fail = async () => {
    tries += 1;
    throw new Error(`failure ${tries}`);
  };
  await expect(retry(fail, { mayRepeat: () => false })).rejects.toThrow('failure 1');
  const wait = async () => over.abort();
  await expect(retry(fail, { mayRepeat: () => true, signal: over.signal, wait })).rejects.toThrow('failure 2');
  expect(tries).toBe(2);
});
