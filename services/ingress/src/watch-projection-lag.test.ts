import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Postgres } from '@makerbook/postgres';
import { type ProjectionLag, watchProjectionLag } from './watch-projection-lag.js';

let lag: ProjectionLag;
let ends: bigint[] | undefined;
let positions: bigint[] | undefined;

beforeEach(() => {
  jest.useFakeTimers();
  ends = [5n, 5n];
  positions = [5n, 5n];
  lag = watchProjectionLag({
    log: { endOffsets: async () => ends ?? Promise.reject(new Error('away')) },
    postgres: {
      query: async () => {
        if (positions === undefined) throw new Error('away');
        return positions.map((next_offset, partition) => ({ partition, next_offset }));
      },
    } as unknown as Postgres,
    makerEventsTopic: 'facts',
    intervalMs: 1000,
    monotonicMs: Date.now,
  });
});
afterEach(() => {
  lag.stop();
  jest.useRealTimers();
});

const pass = (seconds: number) => jest.advanceTimersByTimeAsync(seconds * 1000);

describe('how long the read model has been behind', () => {
  test('is nothing while it keeps up, however much is written', async () => {
    for (let second = 0n; second < 20n; second += 1n) {
      ends = [5n + second, 5n];
      positions = [5n + second, 5n];
      await pass(1);
    }
    expect(lag.seconds()).toBe(0);
  });

  test('counts from when an end that it has not reached was seen first, in the partition that is worst', async () => {
    ends = [9n, 5n];
    await pass(1);
    ends = [11n, 7n];
    await pass(10);
    expect(lag.seconds()).toBe(10);
    positions = [9n, 5n];
    await pass(1);
    // The first end is reached; the others were seen ten seconds ago at most.
    expect(lag.seconds()).toBe(10);
    positions = [11n, 7n];
    await pass(1);
    expect(lag.seconds()).toBe(0);
  });

  test('grows while Postgres is away, and is gone once the read model has caught up', async () => {
    positions = undefined;
    await pass(30);
    expect(lag.seconds()).toBeGreaterThan(28);
    positions = [5n, 5n];
    await pass(1);
    expect(lag.seconds()).toBe(0);
  });

  test('does not grow while the end of the log cannot be read', async () => {
    ends = undefined;
    await pass(30);
    expect(lag.seconds()).toBe(0);
  });
});
