import { expect, test } from '@jest/globals';
import { pause, retry } from './index.js';

test('an abort ends a pause, even one that has not begun', async () => {
  const over = new AbortController();
  const paused = pause(1_000_000, over.signal);
  over.abort();
  await paused;
  await pause(1_000_000, over.signal);
});

test('work is retried with pauses that double up to a maximum, until it succeeds', async () => {
  const pauses: number[] = [];
  const wait = async (ms: number) => void pauses.push(ms);
  const work = async () => (pauses.length < 4 ? Promise.reject(new Error('away')) : 'done');
  expect(await retry(work, { mayRepeat: () => true, wait, firstMs: 100, pauseMsMax: 300 })).toBe('done');
  expect(pauses).toEqual([100, 200, 300, 300]);
});

test('a failure that may not be retried is thrown, and so is the last one after an abort', async () => {
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
