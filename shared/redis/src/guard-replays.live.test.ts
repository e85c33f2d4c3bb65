import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { testParts } from '@makerbook/parts';
import { connectRedis, type RedisConnection, RedisUnavailable } from './connect.js';
import { createReplayGuard, type ReplayGuard } from './guard-replays.js';

const signer = `0x${'a1'.repeat(20)}` as const;
const otherSigner = `0x${'b2'.repeat(20)}` as const;
const salt = `0x${'01'.repeat(32)}` as const;
const saltOf = (n: number) => `0x${n.toString(16).padStart(64, '0')}` as const;

const connections: RedisConnection[] = [];
let redis: RedisConnection;
let nowMs: number;

beforeEach(async () => {
  const keyPrefix = `g${randomBytes(6).toString('hex')}:`;
  const logger = { info: () => undefined, warn: () => undefined };
  redis = connectRedis({ url: testParts().redisUrl, keyPrefix, logger, commandTimeoutMs: 10_000 });
  connections.push(redis);
  await redis.waitUntilReady(10_000);
  nowMs = 1_000;
});
afterAll(async () => {
  await Promise.all(connections.map((connection) => connection.close()));
});

const guardOf = (connection: RedisConnection, localSaltsMax = 100): ReplayGuard =>
  createReplayGuard(connection, { windowMs: 36_000, monotonicMs: () => nowMs, localSaltsMax });
const lost = (): RedisConnection => ({ ...redis, attempt: () => Promise.reject(new RedisUnavailable('gone')) });

describe('a salt', () => {
  test('is taken once, by whatever instance', async () => {
    const [one, two] = [guardOf(redis), guardOf(redis)];
    expect(await one.takeSalt(signer, salt)).toBe('taken');
    expect(await one.takeSalt(signer, salt)).toBe('used');
    expect(await two.takeSalt(signer, salt)).toBe('used');
  });

  test('is taken by one of many that come at once', async () => {
    const guards = Array.from({ length: 20 }, () => guardOf(redis));
    const answers = await Promise.all(guards.map((guard) => guard.takeSalt(signer, salt)));
    expect(answers.filter((answer) => answer === 'taken')).toHaveLength(1);
  });

  test('is each signer’s own', async () => {
    const guard = guardOf(redis);
    expect(await guard.takeSalt(signer, salt)).toBe('taken');
    expect(await guard.takeSalt(otherSigner, salt)).toBe('taken');
  });

  test('that was given back can be taken again', async () => {
    const guard = guardOf(redis);
    await guard.takeSalt(signer, salt);
    await guard.releaseSalt(signer, salt);
    expect(await guard.takeSalt(signer, salt)).toBe('taken');
  });

  test('is forgotten by Redis after the window', async () => {
    await guardOf(redis).takeSalt(signer, salt);
    const [key = ''] = await redis.client.keys(`${redis.keys.prefix}*`);
    const ttl = await redis.client.pttl(key);
    expect(ttl).toBeGreaterThan(30_000);
    expect(ttl).toBeLessThanOrEqual(36_000);
  });
});

describe('without Redis', () => {
  test('each instance knows what it saw itself, for as long as the window', async () => {
    const guard = guardOf(lost());
    expect(await guard.takeSalt(signer, salt)).toBe('takenLocally');
    expect(await guard.takeSalt(signer, salt)).toBe('used');
    nowMs += 36_000;
    expect(await guard.takeSalt(signer, salt)).toBe('takenLocally');
  });

  test('it remembers so many salts and no more, the newest', async () => {
    const guard = guardOf(lost(), 3);
    for (let n = 0; n < 5; n += 1) await guard.takeSalt(signer, saltOf(n));
    expect(await guard.takeSalt(signer, saltOf(4))).toBe('used');
    expect(await guard.takeSalt(signer, saltOf(0))).toBe('takenLocally');
  });
});
