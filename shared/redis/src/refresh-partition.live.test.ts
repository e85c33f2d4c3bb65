import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { testParts } from '@makerbook/parts';
import { createListCache, type ListCache } from './cache-lists.js';
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
let lists: ListCache;

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
  lists = createListCache(redis);
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
const changed = (n: number, record: string): OrderChange =>
  ({ ...opened(n, { record }), kind: 'changed' }) as OrderChange;
const removed = (n: number): OrderChange => ({
  kind: 'removed',
  maker,
  orderHash: hashOf(n),
  expiresAtSeconds: farSeconds,
});
const refresh = (prevPos: bigint, newPos: bigint, changes: OrderChange[]) =>
  refresher.refreshPartition({ partition, prevPos, newPos, changes });

async function recordsNow(nowSeconds = 1_000): Promise<string[] | string> {
  const reading = await lists.readList(maker, partition, nowSeconds);
  return reading.kind === 'list' ? reading.list.records.map(({ record }) => String(record)) : reading.kind;
}

async function fill(snapshotPos: bigint, numbers: number[]): Promise<string> {
  const reading = await lists.readList(maker, partition, 0);
  if (reading.kind !== 'cold') throw new Error(`not cold: ${reading.kind}`);
  return lists.fillList({ maker, partition, epoch: reading.epoch, snapshotPos, orders: numbers.map(listed) });
}
const listed = (n: number) => ({
  orderHash: hashOf(n),
  acceptedOffset: BigInt(n),
  expiresAtSeconds: farSeconds,
  json: `{"n":${n}}`,
});

async function epochNow(): Promise<string> {
  return (await redis.client.hget(redis.keys.partition(partition), 'epoch')) ?? '';
}

/** What ingress leaves behind when it has loaded a maker. */
async function loadReservations(): Promise<string> {
  const epoch = await epochNow();
  await redis.client.hset(redis.keys.reservations(epoch, maker), 'ready', '1');
  return epoch;
}

describe('a list in Redis', () => {
  test('is forgotten until the projector has spoken, cold until it is filled, and then follows each batch', async () => {
    expect(await recordsNow()).toBe('forgotten');
    expect(await refresh(0n, 10n, [opened(1)])).toBe('reset');
    expect(await recordsNow()).toBe('cold');
    expect(await fill(10n, [1])).toBe('filled');
    expect(await recordsNow()).toEqual(['{"n":1}']);
    expect(await refresh(10n, 12n, [opened(11), changed(1, '{"n":"1b"}')])).toBe('applied');
    expect(await recordsNow()).toEqual(['{"n":"1b"}', '{"n":11}']);
    expect(await refresh(12n, 13n, [removed(1)])).toBe('applied');
    expect(await recordsNow()).toEqual(['{"n":11}']);
    expect(await lists.readPosition(partition)).toBe(13n);
  });

  test('of a maker without orders is empty, which is not cold', async () => {
    await refresh(0n, 10n, []);
    expect(await fill(10n, [])).toBe('filled');
    expect(await recordsNow()).toEqual([]);
  });

  test('is in the order of acceptance, whatever the hashes are', async () => {
    await refresh(0n, 2000n, []);
    const numbers = Array.from({ length: 1000 }, (_, index) => (index * 7919) % 2000);
    await fill(2000n, numbers);
    const expected = [...new Set(numbers)].sort((a, b) => a - b).map((n) => `{"n":${n}}`);
    expect(await recordsNow()).toEqual(expected);
  });

  test('hides an order from the second at which it expires by the clock of the server', async () => {
    await refresh(0n, 10n, []);
    await fill(10n, []);
    await refresh(10n, 12n, [opened(10, { expires: 5_000 }), opened(11, { expires: 2 ** 53 - 1 })]);
    expect(await recordsNow(4_999)).toEqual(['{"n":10}', '{"n":11}']);
    expect(await recordsNow(5_000)).toEqual(['{"n":11}']);
  });

  test('is void once a refresh was missed', async () => {
    await refresh(0n, 10n, []);
    await fill(10n, []);
    expect(await refresh(11n, 12n, [])).toBe('reset');
    expect(await recordsNow()).toBe('cold');
  });

  test('is untouched by a repeat of the newest batch', async () => {
    await refresh(0n, 10n, []);
    await fill(10n, []);
    await refresh(10n, 11n, [opened(10)]);
    expect(await refresh(10n, 11n, [opened(10)])).toBe('applied');
    expect(await recordsNow()).toEqual(['{"n":10}']);
  });

  test('is not taken back by a batch that its fill already holds', async () => {
    await refresh(0n, 10n, []);
    expect(await fill(12n, [])).toBe('filled');
    await refresh(10n, 11n, [opened(10)]);
    expect(await recordsNow()).toEqual([]);
    await refresh(11n, 12n, [removed(10)]);
    expect(await recordsNow()).toEqual([]);
  });

  test('is not filled from a snapshot older than what Redis reflects', async () => {
    await refresh(0n, 10n, []);
    expect(await fill(9n, [1])).toBe('refused');
    expect(await recordsNow()).toBe('cold');
  });

  test('is not filled under an epoch that has passed', async () => {
    await refresh(0n, 10n, []);
    const before = await epochNow();
    await redis.client.del(redis.keys.partition(partition));
    await refresh(10n, 11n, []);
    const orders = [listed(1)];
    expect(await lists.fillList({ maker, partition, epoch: before, snapshotPos: 20n, orders })).toBe('refused');
  });

  test('beyond the bound is left to Postgres', async () => {
    const small = createListCache(redis, { fillOrdersMax: 2 });
    await refresh(0n, 10n, []);
    const epoch = await epochNow();
    const orders = [listed(1), listed(2), listed(3)];
    expect(await small.fillList({ maker, partition, epoch, snapshotPos: 10n, orders })).toBe('tooLarge');
  });
});

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
    expect(await lists.readPosition(partition)).toBe(10n);
  });

  test('lets no older snapshot in once it has begun', async () => {
    await refresh(0n, 10n, []);
    await expect(failingBefore(2).refreshPartition(batch)).rejects.toThrow();
    expect(await fill(10n, [])).toBe('refused');
    expect(await fill(12n, [10])).toBe('filled');
  });

  test('is completed by a repeat, and the lists are kept', async () => {
    await refresh(0n, 10n, []);
    await fill(10n, []);
    await expect(failingBefore(2).refreshPartition(batch)).rejects.toThrow();
    expect(await failingBefore(0).refreshPartition(batch)).toBe('applied');
    expect(await recordsNow()).toEqual(['{"n":10}']);
    expect(await lists.readPosition(partition)).toBe(12n);
    expect(await redis.client.hexists(redis.keys.partition(partition), 'next')).toBe(0);
  });

  test('when given up, makes everything void with the batch after it', async () => {
    await refresh(0n, 10n, []);
    await fill(10n, []);
    await expect(failingBefore(2).refreshPartition(batch)).rejects.toThrow();
    expect(await refresh(12n, 13n, [])).toBe('reset');
    expect(await recordsNow()).toBe('cold');
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
