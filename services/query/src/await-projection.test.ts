import { describe, expect, test } from '@jest/globals';
import { createProjectionWatch } from './await-projection.js';

/** A read model whose positions are said one question at a time; the last answer stays. */
function positionsOf(answers: (bigint | undefined)[]) {
  let asked = 0;
  return {
    read: async () => answers[Math.min(asked++, answers.length - 1)],
    asked: () => asked,
  };
}

describe('waiting for the projection', () => {
  test('ends as soon as Redis is there, and Postgres is not asked', async () => {
    const store = positionsOf([0n]);
    const watch = createProjectionWatch({
      readCachePosition: positionsOf([5n, 6n, 7n]).read,
      readStorePosition: store.read,
      pollMs: 1,
    });
    expect(await watch.awaitPosition(0, 7n, 5_000)).toEqual({ cache: 7n, store: undefined });
    expect(store.asked()).toBe(0);
  });

  test('ends as soon as Postgres is there, where Redis is gone', async () => {
    const watch = createProjectionWatch({
      readCachePosition: async () => undefined,
      readStorePosition: positionsOf([5n, 7n]).read,
      pollMs: 1,
    });
    expect(await watch.awaitPosition(0, 7n, 5_000)).toEqual({ cache: undefined, store: 7n });
  });

  test('asks Postgres too once Redis has been behind for a while', async () => {
    const watch = createProjectionWatch({
      readCachePosition: async () => 5n,
      readStorePosition: async () => 7n,
      pollMs: 1,
      patiencePolls: 3,
    });
    expect(await watch.awaitPosition(0, 7n, 5_000)).toEqual({ cache: 5n, store: 7n });
  });

  test('ends after its time, though the questions are not answered', async () => {
    const watch = createProjectionWatch({
      readCachePosition: () => new Promise((resolve) => setTimeout(() => resolve(undefined), 200)),
      readStorePosition: async () => undefined,
    });
    const startedAt = performance.now();
    await watch.awaitPosition(0, 7n, 50);
    expect(performance.now() - startedAt).toBeLessThan(190);
  });

  test('tells those who wait of a question that cannot be put, and asks anew for whoever comes later', async () => {
    let isBroken = true;
    const watch = createProjectionWatch({
      readCachePosition: async () => undefined,
      readStorePosition: async () => {
        if (isBroken) throw new Error('relation "projections" does not exist');
        return 7n;
      },
      pollMs: 1,
    });
    const waiting = [watch.awaitPosition(0, 7n, 5_000), watch.awaitPosition(0, 8n, 5_000)];
    for (const outcome of await Promise.allSettled(waiting)) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { message: expect.stringMatching('does not exist') },
      });
    }
    isBroken = false;
    expect(await watch.awaitPosition(0, 7n, 5_000)).toEqual({ cache: undefined, store: 7n });
  });

  test('costs one loop of questions per partition, however many wait, and none when nobody waits', async () => {
    const cache = positionsOf([...new Array<bigint>(9).fill(0n), 7n]);
    const watch = createProjectionWatch({
      readCachePosition: cache.read,
      readStorePosition: async () => 0n,
      pollMs: 1,
    });
    await Promise.all(Array.from({ length: 100 }, () => watch.awaitPosition(0, 7n, 5_000)));
    expect(cache.asked()).toBe(10);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(cache.asked()).toBe(10);
    await watch.awaitPosition(0, 7n, 5_000);
    expect(cache.asked()).toBe(11);
  });
});
