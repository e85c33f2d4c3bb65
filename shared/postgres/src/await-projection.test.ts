import { describe, expect, test } from '@jest/globals';
import { createProjectionWatch } from './await-projection.js';

/** A read model that answers the reads of partition 0 with these positions in turn; the last one is repeated. */
function positionsOf(answers: (bigint | undefined)[]) {
  let reads = 0;
  const next = () => answers[Math.min(reads++, answers.length - 1)];
  return {
    read: async () => next(),
    readAll: async () => {
      const position = next();
      return position === undefined ? undefined : new Map([[0, position]]);
    },
    reads: () => reads,
  };
}

describe('waiting for the projection', () => {
  test('ends as soon as Redis has reached the target, without a query of Postgres', async () => {
    const store = positionsOf([0n]);
    const watch = createProjectionWatch({
      readCachePosition: positionsOf([5n, 6n, 7n]).read,
      readStorePositions: store.readAll,
      pollMs: 1,
    });
    expect(await watch.awaitPosition(0, 7n, 5_000)).toEqual({ cache: 7n, store: undefined });
    expect(store.reads()).toBe(0);
  });

  test('ends as soon as Postgres has reached the target, where Redis is away', async () => {
    const watch = createProjectionWatch({
      readCachePosition: async () => undefined,
      readStorePositions: positionsOf([5n, 7n]).readAll,
      pollMs: 1,
    });
    expect(await watch.awaitPosition(0, 7n, 5_000)).toEqual({ cache: undefined, store: 7n });
  });

  test('reads Postgres too once Redis has been behind for a while', async () => {
    const watch = createProjectionWatch({
      readCachePosition: async () => 5n,
      readStorePositions: positionsOf([7n]).readAll,
      pollMs: 1,
      patiencePolls: 3,
    });
    expect(await watch.awaitPosition(0, 7n, 5_000)).toEqual({ cache: 5n, store: 7n });
  });

  test('ends at its deadline, though the reads are not answered', async () => {
    const watch = createProjectionWatch({
      readCachePosition: () => new Promise((resolve) => setTimeout(() => resolve(undefined), 200)),
      readStorePositions: async () => undefined,
    });
    const startedAt = performance.now();
    await watch.awaitPosition(0, 7n, 50);
    expect(performance.now() - startedAt).toBeLessThan(190);
  });

  test('rejects all waiters when a read fails, and reads again for later ones', async () => {
    let isBroken = true;
    const watch = createProjectionWatch({
      readCachePosition: async () => undefined,
      readStorePositions: async () => {
        if (isBroken) throw new Error('relation "projections" does not exist');
        return new Map([[0, 7n]]);
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

  test('polls once per partition for any number of waiters, and not at all without one', async () => {
    const cache = positionsOf([...new Array<bigint>(9).fill(0n), 7n]);
    const watch = createProjectionWatch({
      readCachePosition: cache.read,
      readStorePositions: async () => new Map(),
      pollMs: 1,
    });
    await Promise.all(Array.from({ length: 100 }, () => watch.awaitPosition(0, 7n, 5_000)));
    expect(cache.reads()).toBe(10);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(cache.reads()).toBe(10);
    await watch.awaitPosition(0, 7n, 5_000);
    expect(cache.reads()).toBe(11);
  });

  test('reads Postgres once for the waiters of all partitions, without Redis', async () => {
    let reads = 0;
    const watch = createProjectionWatch({
      readStorePositions: async () => {
        reads += 1;
        await new Promise((resolve) => setTimeout(resolve, 20));
        return new Map(Array.from({ length: 47 }, (_, partition) => [partition, 9n]));
      },
    });
    const partitions = Array.from({ length: 48 }, (_, partition) => partition);
    const positions = await Promise.all(
      partitions.map((partition) => watch.awaitPosition(partition, partition === 47 ? 0n : 9n, 5_000)),
    );
    expect(reads).toBe(1);
    // A partition without a row is at the beginning of the log.
    expect(positions.map(({ store }) => store)).toEqual(partitions.map((partition) => (partition === 47 ? 0n : 9n)));
  });
});
