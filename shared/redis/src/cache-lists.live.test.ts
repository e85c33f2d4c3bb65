import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { createListCache } from './cache-lists.js';
import { connectRedis } from './connect.js';
import { joinRecords } from './list-value.js';
import { openTestRedis, quiet } from './testing/open-test-redis.js';

const maker: Hex = `0x${'a1'.repeat(20)}`;
const otherMaker: Hex = `0x${'b2'.repeat(20)}`;
const listOf = (version: bigint, json = '{"n":"ü"}') =>
  joinRecords(version, [{ orderHash: '0x01', acceptedOffset: 1, expiresAtSeconds: 9, json: Buffer.from(json) }]);

const redis = openTestRedis();
beforeAll(() => redis.waitUntilReady(10_000));
afterAll(() => redis.close());

test('a list is there as it was stored last, for a day', async () => {
  const cache = createListCache(redis);
  expect(await cache.readList(maker)).toBeUndefined();
  for (const version of [5n, 3n]) {
    expect(await cache.storeList(maker, listOf(version))).toBe('filled');
    expect(await cache.readList(maker)).toEqual(listOf(version));
  }
  expect(await cache.readList(otherMaker)).toBeUndefined();
  expect(await redis.client.ttl(redis.keys.list(maker))).toBeGreaterThan(80_000);
});

test('a list beyond the bound is not stored', async () => {
  expect(await createListCache(redis, 10).storeList(otherMaker, listOf(5n))).toBe('tooLarge');
  expect(await createListCache(redis, 10).readList(otherMaker)).toBeUndefined();
});

test('where no Redis is set, each call fails at once', async () => {
  const none = connectRedis({ url: '', keyPrefix: 'any:', logger: quiet });
  try {
    expect(await none.waitUntilReady(60_000)).toBe(false);
    expect(await none.isThere()).toBe(false);
    expect(await none.attempt((client) => client.get('any'))).toBeUndefined();
    expect(await createListCache(none).readList(maker)).toBeUndefined();
    expect(await createListCache(none).storeList(maker, listOf(1n))).toBe('failed');
  } finally {
    await none.close();
  }
});
