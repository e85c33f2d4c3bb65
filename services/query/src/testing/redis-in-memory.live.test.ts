import { expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { type Chance, createChance } from '@makerbook/parts';
import type { RedisConnection } from '../redis/connect.js';
import { createReplayGuard, type ReplayGuard } from '../redis/guard-replays.js';
import { openTestRedis } from './open-test-redis.js';
import { RedisInMemory } from './redis-in-memory.js';

const seeds = [1, 2, 3, 4, 5];
const STEPS = 150;
const makers = ['a1', 'b2'].map((byte): Hex => `0x${byte.repeat(20)}`) as [Hex, Hex];

/** One of the two Redis, with two processes that use it. */
interface Side {
  readonly guards: readonly [ReplayGuard, ReplayGuard];
}

function open(redis: RedisConnection): Side {
  const options = { windowMs: 60_000, budget: { ratePerSecond: 0.5, burst: 12 } };
  return {
    guards: [createReplayGuard(redis, options), createReplayGuard(redis, options)],
  };
}

/** The next step, the same on both sides. */
function drawStep(chance: Chance, nowMs: number): (side: Side) => Promise<unknown> {
  const [signer, maker] = [chance.pick(makers), chance.pick(makers)];
  const which = chance.below(2);
  const salt: Hex = `0x${chance.below(400)}`;
  switch (chance.pickWeighted({ take: 6, release: 1 })) {
    case 'take':
      return ({ guards }) => (guards[which] as ReplayGuard).takeSalt({ signer, maker }, salt, nowMs);
    case 'release':
      return ({ guards }) => (guards[which] as ReplayGuard).releaseSalt(signer, salt);
  }
}

test('the Redis in memory answers every call as the real Redis does', async () => {
  const kinds = new Set<string>();
  for (const seed of seeds) {
    const real = openTestRedis();
    await real.waitUntilReady(60_000);
    const chance = createChance(seed);
    const sides = [open(real), open(new RedisInMemory(() => Date.now()).connect('any:'))] as const;
    for (let index = 0; index < STEPS; index += 1) {
      const step = drawStep(chance, Date.now());
      const must = await step(sides[0]);
      expect({ seed, index, is: await step(sides[1]) }).toEqual({ seed, index, is: must });
      kinds.add(typeof must === 'object' && must !== null && 'kind' in must ? String(must.kind) : String(must));
    }
    await real.close();
  }
  // The test proves something only if each outcome comes up.
  expect(['taken', 'used', 'rate_limited'].filter((kind) => !kinds.has(kind))).toEqual([]);
});
