import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { followProjection, type Projection } from './follow-projection.js';

let projection: Projection;
let positions: bigint[] | undefined;
let reads: number;

beforeEach(() => {
  jest.useFakeTimers();
  positions = [5n, 5n];
  reads = 0;
  const readClocks = async () => {
    reads += 1;
    if (positions === undefined) throw new Error('away');
    return positions.map((nextOffset, partition) => ({ partition, nextOffset, block: undefined }));
  };
  projection = followProjection(readClocks, {
    monotonicMs: () => performance.now(),
    pause: (ms) => new Promise((done) => setTimeout(done, ms)),
  });
});
afterEach(() => {
  projection.stop();
  jest.useRealTimers();
});

const pass = (seconds: number) => jest.advanceTimersByTimeAsync(seconds * 1000);

test('the lag and the waits go on even if the clock is set back', async () => {
  projection.appended([{ partition: 0, offset: 5n }]);
  const passed = projection.havePassed([{ partition: 0, offset: 5n }], 2_000);
  jest.setSystemTime(Date.now() - 3_600_000);
  await pass(3);
  expect(projection.lagSeconds()).toBe(3);
  expect(await Promise.race([passed, 'waits'])).toBe(false);
});

describe('the lag of the read model', () => {
  test('is zero while it keeps up, however much is appended', async () => {
    for (let second = 0n; second < 20n; second += 1n) {
      projection.appended([{ partition: 0, offset: 5n + second }]);
      positions = [6n + second, 5n];
      await pass(1);
    }
    expect(projection.lagSeconds()).toBe(0);
  });

  test('is not asked of Postgres while nothing is awaited', async () => {
    await pass(20);
    expect(reads).toBe(0);
  });

  test('counts from the first fact that is missing, in the worst partition', async () => {
    projection.appended([{ partition: 0, offset: 9n }]);
    await pass(4);
    projection.appended([
      { partition: 0, offset: 11n },
      { partition: 1, offset: 7n },
    ]);
    await pass(6);
    expect(projection.lagSeconds()).toBe(10);
    positions = [9n, 5n];
    await pass(1);
    expect(projection.lagSeconds()).toBe(11);
    positions = [10n, 5n];
    await pass(1);
    expect(projection.lagSeconds()).toBe(8);
    expect(projection.lagSeconds([1])).toBe(8);
    expect(projection.lagSeconds([0, 5])).toBe(0);
    positions = [12n, 8n];
    await pass(1);
    expect(projection.lagSeconds()).toBe(0);
  });

  test('grows while Postgres is down, and is zero once the read model has caught up', async () => {
    projection.appended([{ partition: 0, offset: 5n }]);
    positions = undefined;
    await pass(30);
    expect(projection.lagSeconds()).toBe(30);
    positions = [6n, 5n];
    await pass(1);
    expect(projection.lagSeconds()).toBe(0);
  });
});
