import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openTestRedis } from '../testing/open-test-redis.js';
import type { RedisConnection } from './connect.js';
import { createReplayGuard, type ReplayGuard } from './guard-replays.js';

const signer = `0x${'a1'.repeat(20)}` as const;
const otherSigner = `0x${'b2'.repeat(20)}` as const;
const own = { signer, maker: signer };
const other = { signer: otherSigner, maker: otherSigner };
const salt = `0x${'01'.repeat(32)}` as const;
const saltOf = (n: number) => `0x${n.toString(16).padStart(64, '0')}` as const;

let redis: RedisConnection;
let nowMs: number;

beforeEach(async () => {
  redis = openTestRedis();
  await redis.waitUntilReady(60_000);
  nowMs = 1_000;
});
afterEach(() => redis.close());

const budget = { ratePerSecond: 2, burst: 30 };
const guardOf = (connection: RedisConnection, localSaltsMax = 100): ReplayGuard =>
  createReplayGuard(connection, { windowMs: 36_000, budget, localSaltsMax });
const lost = (): RedisConnection => ({ ...redis, attempt: async () => undefined });

describe('a salt', () => {
  test('is taken by only one of many requests at once', async () => {
    const guards = Array.from({ length: 20 }, () => guardOf(redis));
    const answers = await Promise.all(guards.map((guard) => guard.takeSalt(own, salt, nowMs)));
    expect(answers.filter(({ kind }) => kind === 'taken')).toHaveLength(1);
  });

  test('is forgotten by Redis after the window', async () => {
    await guardOf(redis).takeSalt(own, salt, nowMs);
    const ttl = await redis.attempt((client) => client.pttl(redis.keys.replay(signer, salt)));
    expect(ttl).toBeGreaterThan(30_000);
    expect(ttl).toBeLessThanOrEqual(36_000);
  });
});

describe('the salt of a key', () => {
  const key = `0x${'c3'.repeat(20)}` as const;
  const ofKey = { signer: key, maker: signer };

  test('is used once, whichever maker the key reads for, and is separate from that of any other signer', async () => {
    const [guard, second] = [guardOf(redis), guardOf(redis)];
    expect(await guard.takeSalt(ofKey, salt, nowMs)).toEqual({ kind: 'taken', remaining: 29 });
    for (const maker of [signer, otherSigner, key]) {
      for (const each of [guard, second]) {
        expect(await each.takeSalt({ signer: key, maker }, salt, nowMs)).toEqual({ kind: 'used' });
      }
    }
    expect(await second.takeSalt(own, salt, nowMs)).toEqual({ kind: 'taken', remaining: 28 });
    expect(await second.takeSalt({ signer: otherSigner, maker: signer }, salt, nowMs)).toMatchObject({ remaining: 27 });
  });

  test('can still be used later if the maker’s budget is spent', async () => {
    const guard = guardOf(redis);
    for (let n = 0; n < 30; n += 1) await guard.takeSalt(own, saltOf(100 + n), nowMs);
    expect(await guard.takeSalt(ofKey, salt, nowMs)).toMatchObject({ kind: 'rate_limited' });
    nowMs += 500;
    expect(await guard.takeSalt(ofKey, salt, nowMs)).toEqual({ kind: 'taken', remaining: 0 });
  });
});

describe('the budget of a maker', () => {
  const takeMany = async (guards: readonly ReplayGuard[], count: number, first = 0) =>
    Promise.all(
      Array.from({ length: count }, (_, n) => guards[n % guards.length]?.takeSalt(own, saltOf(first + n), nowMs)),
    );

  test('is shared by all instances, refills with time, and is separate from that of another maker', async () => {
    const guards = [guardOf(redis), guardOf(redis), guardOf(redis)];
    const answers = await takeMany(guards, 50);
    expect(answers.filter((answer) => answer?.kind === 'taken')).toHaveLength(30);
    const refused = answers.filter((answer) => answer?.kind === 'rate_limited');
    expect(refused).toHaveLength(20);
    expect(refused[0]).toEqual({ kind: 'rate_limited', remaining: 0, retryAfterMs: 500 });
    expect(await guards[0]?.takeSalt(other, saltOf(0), nowMs)).toEqual({ kind: 'taken', remaining: 29 });
    nowMs += 1_500;
    expect((await takeMany(guards, 9, 100)).filter((answer) => answer?.kind === 'taken')).toHaveLength(3);
  });

  test('is not charged for a replay, and a request that it refuses can be sent again', async () => {
    const [guard, second] = [guardOf(redis), guardOf(redis)];
    await guard.takeSalt(own, salt, nowMs);
    for (let n = 0; n < 40; n += 1) await second.takeSalt(own, salt, nowMs);
    expect(await guard.takeSalt(own, saltOf(2), nowMs)).toEqual({ kind: 'taken', remaining: 28 });
    await takeMany([guard], 28, 100);
    expect(await guard.takeSalt(own, saltOf(3), nowMs)).toMatchObject({ kind: 'rate_limited' });
    nowMs += 500;
    expect(await guard.takeSalt(own, saltOf(3), nowMs)).toEqual({ kind: 'taken', remaining: 0 });
  });
});

test('a salt that is given back can be used again at any instance', async () => {
  const [guard, second] = [guardOf(redis), guardOf(redis)];
  for (const signing of [own, { signer: `0x${'c3'.repeat(20)}` as const, maker: own.maker }]) {
    await guard.takeSalt(signing, salt, nowMs);
    expect(await second.takeSalt(signing, salt, nowMs)).toEqual({ kind: 'used' });
    await guard.releaseSalt(signing.signer, salt);
    expect(await second.takeSalt(signing, salt, nowMs)).toMatchObject({ kind: 'taken' });
  }
});

describe('without Redis', () => {
  test('each instance remembers its own salts until the window ends', async () => {
    const guard = guardOf(lost());
    expect(await guard.takeSalt(own, salt, nowMs)).toMatchObject({ kind: 'takenLocally' });
    expect(await guard.takeSalt(own, salt, nowMs)).toMatchObject({ kind: 'used' });
    nowMs += 36_000;
    expect(await guard.takeSalt(own, salt, nowMs)).toMatchObject({ kind: 'takenLocally' });
  });

  test('each instance remembers only the newest salts, up to its limit', async () => {
    const guard = guardOf(lost(), 3);
    for (let n = 0; n < 5; n += 1) await guard.takeSalt(own, saltOf(n), nowMs);
    expect(await guard.takeSalt(own, saltOf(4), nowMs)).toMatchObject({ kind: 'used' });
    expect(await guard.takeSalt(own, saltOf(0), nowMs)).toMatchObject({ kind: 'takenLocally' });
  });
});
