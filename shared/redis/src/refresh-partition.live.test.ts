import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { testParts } from '@makerbook/parts';
import { findHints } from './cancel-orders.js';
import { connectRedis, type RedisConnection } from './connect.js';
import { createPartitionRefresher, type OrderChange, type PartitionRefresher } from './refresh-partition.js';

const partition = 3;
const maker = `0x${'a1'.repeat(20)}` as const;
const otherMaker = `0x${'b2'.repeat(20)}` as const;
const hashOf = (n: number) => `0x${n.toString(16).padStart(64, '0')}` as const;
const farSeconds = 4_000_000_000;

const quiet = { info: () => undefined, warn: () => undefined };
const connections: RedisConnection[] = [];
let redis: RedisConnection;
let refresher: PartitionRefresher;

beforeEach(async () => {
  redis = connectRedis({
    url: testParts().redisUrl,
    keyPrefix: `t${randomBytes(6).toString('hex')}:`,
    logger: quiet,
    commandTimeoutMs: 10_000,
  });
  connections.push(redis);
  await redis.waitUntilReady(10_000);
  refresher = createPartitionRefresher(redis);
});

afterAll(async () => {
  await Promise.all(connections.map((connection) => connection.close()));
});

const opened = (n: number, options: { maker?: typeof maker; expires?: number; record?: string } = {}): OrderChange => ({
  kind: 'opened',
  maker: options.maker ?? maker,
  orderHash: hashOf(n),
  salt: `0x${n.toString(16)}`,
  acceptedOffset: BigInt(n),
  expiresAtSeconds: options.expires ?? farSeconds,
  record: options.record ?? `{"n":${n}}`,
});
const removed = (n: number): OrderChange => ({
  kind: 'removed',
  maker,
  orderHash: hashOf(n),
  expiresAtSeconds: farSeconds,
});
const refresh = (prevPos: bigint, newPos: bigint, changes: OrderChange[]) =>
  refresher.refreshPartition({ partition, prevPos, newPos, changes });

const positionNow = () => redis.client.hget(redis.keys.partition(partition), 'pos');

async function epochNow(): Promise<string> {
  return (await redis.client.hget(redis.keys.partition(partition), 'epoch')) ?? '';
}

/** What ingress leaves behind when it has loaded a maker. */
async function loadReservations(): Promise<string> {
  const epoch = await epochNow();
  await redis.client.hset(redis.keys.reservations(epoch, maker), 'ready', '1');
  return epoch;
}

describe('a batch that takes several calls', () => {
  /** Refreshes in calls of one maker each, and fails before the call with that number. */
  function failingBefore(call: number): PartitionRefresher {
    let calls = 0;
    const failing: RedisConnection = {
      ...redis,
      runScript: (...args) => {
        calls += 1;
        return calls === call ? Promise.reject(new Error('Redis went away')) : redis.runScript(...args);
      },
    };
    return createPartitionRefresher(failing, { callChangesMax: 1 });
  }
  const batch = {
    partition,
    prevPos: 10n,
    newPos: 12n,
    changes: [opened(10), opened(11, { maker: otherMaker as typeof maker })],
  };

  test('does not move the position before its last call', async () => {
    await refresh(0n, 10n, []);
    await expect(failingBefore(2).refreshPartition(batch)).rejects.toThrow('Redis went away');
    expect(await positionNow()).toBe('10');
  });

  test('is completed by a repeat', async () => {
    await refresh(0n, 10n, []);
    await expect(failingBefore(2).refreshPartition(batch)).rejects.toThrow();
    expect(await failingBefore(0).refreshPartition(batch)).toBe('applied');
    expect(await positionNow()).toBe('12');
    expect(await redis.client.hexists(redis.keys.partition(partition), 'next')).toBe(0);
  });

  test('keeps the orders of one maker in one call', async () => {
    let calls = 0;
    const counting: RedisConnection = {
      ...redis,
      runScript: (...args) => {
        calls += 1;
        return redis.runScript(...args);
      },
    };
    const changes = Array.from({ length: 50 }, (_, index) => opened(index));
    await createPartitionRefresher(counting, { callChangesMax: 10 }).refreshPartition({ ...batch, changes });
    expect(calls).toBe(1);
  });
});

describe('what ingress keeps of a maker', () => {
  test('learns opened and removed orders, where it was loaded', async () => {
    await refresh(0n, 10n, []);
    const epoch = await loadReservations();
    await refresh(10n, 12n, [opened(10), opened(11)]);
    await refresh(12n, 13n, [removed(10)]);
    expect(await redis.client.zrange(redis.keys.seen(epoch, maker), '0', '-1')).toEqual([hashOf(10), hashOf(11)]);
    expect(await redis.client.zrange(redis.keys.open(epoch, maker), '0', '-1')).toEqual([hashOf(11)]);
    expect(await redis.client.zscore(redis.keys.seen(epoch, maker), hashOf(10))).toBe(String(farSeconds));
  });

  test('is not made up where it was not loaded', async () => {
    await refresh(0n, 10n, []);
    await refresh(10n, 12n, [opened(10), removed(11)]);
    expect(await redis.client.keys(`${redis.keys.prefix}[so]:*`)).toEqual([]);
  });

  test('remembers an order that was opened and removed within one batch', async () => {
    await refresh(0n, 10n, []);
    const epoch = await loadReservations();
    await refresh(10n, 12n, [opened(10), removed(10)]);
    expect(await redis.client.zrange(redis.keys.seen(epoch, maker), '0', '-1')).toEqual([hashOf(10)]);
    expect(await redis.client.zcard(redis.keys.open(epoch, maker))).toBe(0);
  });

  test('is believed no longer than the sets that it vouches for', async () => {
    await refresh(0n, 10n, []);
    const epoch = await loadReservations();
    await refresh(10n, 12n, [opened(10)]);
    const ready = await redis.client.ttl(redis.keys.reservations(epoch, maker));
    expect(ready).toBeGreaterThan(0);
    expect(await redis.client.ttl(redis.keys.seen(epoch, maker))).toBeGreaterThan(ready);
    expect(await redis.client.ttl(redis.keys.open(epoch, maker))).toBeGreaterThan(ready);
  });
});

describe('the hint by which a cancellation finds its maker', () => {
  const hint = (n: number) => redis.client.get(redis.keys.hint(hashOf(n)));

  test('exists from the opening to the removal, and never beyond the expiry', async () => {
    const soon = Math.floor(Date.now() / 1000) + 1000;
    await refresh(0n, 10n, [opened(7, { expires: soon })]);
    expect(await hint(7)).toMatch(new RegExp(`^\\d+:[^:]+:${maker}:0x7:${soon}$`));
    const known = { kind: 'hinted', maker, salt: '0x7', expiresAtSeconds: soon, isCurrent: true };
    expect((await findHints(redis, [hashOf(7), hashOf(8)], Date.now())).hints).toEqual([known, { kind: 'absent' }]);
    const ttl = await redis.client.ttl(redis.keys.hint(hashOf(7)));
    expect(ttl).toBeGreaterThan(900);
    expect(ttl).toBeLessThanOrEqual(1000);
    await refresh(10n, 11n, [removed(7)]);
    expect(await hint(7)).toBeNull();
  });

  test('of an earlier epoch no longer shows whether its order is open: the removal may have been missed', async () => {
    await refresh(0n, 10n, [opened(7)]);
    await refresh(90n, 91n, [opened(8)]);
    expect(await hint(7)).not.toBeNull();
    expect((await findHints(redis, [hashOf(7), hashOf(8)], Date.now())).hints).toMatchObject([
      { kind: 'hinted', maker, salt: '0x7', isCurrent: false },
      { kind: 'hinted', maker, salt: '0x8', isCurrent: true },
    ]);
  });

  test('of an order that was cancelled meanwhile is left as ingress wrote it', async () => {
    await redis.client.set(redis.keys.hint(hashOf(7)), '-');
    await refresh(0n, 10n, [opened(7)]);
    expect(await hint(7)).toBe('-');
  });

  test('goes with the removal also when the partition was reset', async () => {
    await refresh(0n, 10n, [opened(7)]);
    await refresh(90n, 91n, [removed(7)]);
    expect(await hint(7)).toBeNull();
  });
});
