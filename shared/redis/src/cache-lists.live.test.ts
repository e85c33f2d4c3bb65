import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { testParts } from '@makerbook/parts';
import { createListCache } from './cache-lists.js';
import { connectRedis, type RedisConnection } from './connect.js';
import { joinRecords } from './list-value.js';

const maker: Hex = `0x${'a1'.repeat(20)}`;
const otherMaker: Hex = `0x${'b2'.repeat(20)}`;
const listOf = (version: bigint, json = '{"n":"ü"}') =>
  joinRecords(version, [{ acceptedOffset: 1, expiresAtSeconds: 9, json: Buffer.from(json) }]);
const logger = { info: () => undefined, warn: () => undefined };
const keyPrefix = `l${randomBytes(6).toString('hex')}:`;

let redis: RedisConnection;
beforeAll(async () => {
  redis = connectRedis({ url: testParts().redisUrl, keyPrefix, logger, commandTimeoutMs: 30_000 });
  await redis.waitUntilReady(10_000);
});
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
  const none = connectRedis({ url: '', keyPrefix, logger });
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
