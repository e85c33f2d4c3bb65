import { describe, expect, test } from '@jest/globals';
import { MakerbookError } from './errors.js';
import { retry } from './retry-calls.js';

const failure = (retryable: boolean, retryAfterSeconds?: number) =>
  new MakerbookError({ code: 'unavailable', status: 503, detail: 'not now', retryable, retryAfterSeconds });

/** Runs work that fails with each of these errors and then succeeds; returns the pauses. */
async function run(failures: Error[], options: Parameters<typeof retry>[1] = {}) {
  const pauses: number[] = [];
  const sleep = async (ms: number) => {
    pauses.push(ms);
  };
  let attempts = 0;
  const work = async () => {
    const error = failures[attempts];
    attempts += 1;
    if (error !== undefined) throw error;
    return attempts;
  };
  const result = await retry(work, { sleep, random: () => 1, ...options }).catch((error: unknown) => error);
  return { result, pauses };
}

describe('a call is tried again', () => {
  test('after growing pauses, as long as it is retryable', async () => {
    const { result, pauses } = await run([failure(true), failure(true), failure(true)]);
    expect(result).toBe(4);
    expect(pauses).toEqual([250, 500, 1000]);
  });

  test.each([
    ['the error is not retryable', failure(false)],
    ['it is a bug', new TypeError('no')],
  ])('but not if %s', async (_what, error) => {
    expect(await run([error])).toEqual({ result: error, pauses: [] });
  });

  test('and may have happened if any try may have succeeded', async () => {
    const busy = new MakerbookError({ code: 'rate_limited', status: 429, detail: 'not now', retryable: true });
    const outcomeOf = async (...failures: Error[]) =>
      (await run(failures, { attemptsMax: 3 })).result as MakerbookError;
    expect(await outcomeOf(failure(true), busy, busy)).toMatchObject({ code: 'rate_limited', mayHaveHappened: true });
    expect(await outcomeOf(busy, busy, busy)).toMatchObject({ code: 'rate_limited', mayHaveHappened: false });
  });

  test('only so many times', async () => {
    const last = failure(true);
    const { result, pauses } = await run([failure(true), last, failure(true)], { attemptsMax: 2 });
    expect(result).toBe(last);
    expect(pauses).toHaveLength(1);
  });

  test('no sooner than Retry-After, within the bound', async () => {
    expect((await run([failure(true, 3)])).pauses).toEqual([3_000]);
    expect((await run([failure(true, 60)])).pauses).toEqual([10_000]);
  });
});
