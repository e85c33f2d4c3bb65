import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { type Chance, createChance, testParts } from '@makerbook/parts';
import { createListCache, type ListCache } from '../cache-lists.js';
import { chargeCancels, findHints, noteCancelled } from '../cancel-orders.js';
import { connectRedis, type RedisConnection } from '../connect.js';
import { createReplayGuard, type ReplayGuard } from '../guard-replays.js';
import { joinRecords } from '../list-value.js';
import { beginLoading, finishLoading } from '../load-reservations.js';
import { createPartitionRefresher, type OrderChange, type PartitionRefresher } from '../refresh-partition.js';
import { reserveOrders } from '../reserve-orders.js';
import { type Settlement, settleReservation } from '../settle-reservation.js';
import { RedisInMemory } from './redis-in-memory.js';

const seeds = Array.from({ length: 14 }, (_, index) => index + 1);
const STEPS = 120;
/** So long ago all that was held was lost. */
const LOST_MS = 300_000;
/** What expires this soon may be gone while the two are compared. */
const SOON_MS = 60_000;
const keyPrefix = `i${randomBytes(6).toString('hex')}:`;
const makers = ['a1', 'b2'].map((byte): Hex => `0x${byte.repeat(20)}`) as [Hex, Hex];
const hashes = Array.from({ length: 10 }, (_, index): Hex => `0x${String(index).padStart(64, '0')}`) as [Hex, ...Hex[]];
const partition = 0;
const farSeconds = 4_000_000_000;
const budget = { ratePerSecond: 5, burst: 12 };

let real: RedisConnection;
beforeAll(async () => {
  const logger = { info: () => undefined, warn: () => undefined };
  real = connectRedis({ url: testParts().redisUrl, keyPrefix, logger, commandTimeoutMs: 30_000 });
  await real.waitUntilReady(10_000);
});
afterAll(() => real.close());

/** One of the two, with what this process holds beside it. */
interface Side {
  readonly redis: RedisConnection;
  readonly cache: ListCache;
  readonly refresher: PartitionRefresher;
  readonly guard: ReplayGuard;
}

function open(redis: RedisConnection): Side {
  let epochs = 0;
  const randomEpoch = () => {
    epochs += 1;
    return `e${epochs}`;
  };
  return {
    redis,
    cache: createListCache(redis),
    refresher: createPartitionRefresher(redis, { callChangesMax: 2, randomEpoch }),
    guard: createReplayGuard(redis, { windowMs: 60_000, budget, monotonicMs: () => 0 }),
  };
}

/** What the next step does; it is the same on both sides. */
function drawStep(chance: Chance, at: { pos: bigint; ids: number }): (side: Side) => Promise<unknown> {
  // Ahead of the clock of Redis, which counts where it is later.
  const nowMs = Date.now() + 300_000;
  const maker = chance.pick(makers);
  const orderHash = chance.pick(hashes);
  const id = `id${Math.max(0, at.ids - chance.below(4))}`;
  const isOldEpoch = chance.oneIn(6);
  const epochNow = async ({ redis }: Side) => {
    const epoch = await redis.attempt((client) => client.hget(redis.keys.partition(partition), 'epoch'));
    return isOldEpoch ? 'e0' : (epoch ?? 'e1');
  };
  const position = at.pos + BigInt(chance.below(3)) - 1n;
  const count = chance.between(1, 6);
  const asked = Array.from({ length: chance.between(1, 3) }, () => chance.pick(hashes));
  switch (
    chance.pickWeighted({ reserve: 6, settle: 4, load: 6, find: 3, charge: 1, cancel: 2, refresh: 6, list: 4, salt: 2 })
  ) {
    case 'reserve': {
      at.ids += 1;
      const reservationId = `id${at.ids}`;
      const leaseMs = chance.pick([60_000, 60_000, 60_000, -1]);
      const receivedAtMs = nowMs - chance.pick([0, 60_000, 60_000, 600_000]);
      const asking = [maker, ...makers.filter((each) => each !== maker)].slice(0, asked.length);
      const limited = asking.map((each) => ({ maker: each, partition, budget, openOrdersMax: 2 }));
      const orders = asked.map((hash, index) => {
        return {
          makerIndex: index % asking.length,
          orderHash: hash,
          salt: '0x1f' as Hex,
          expiresAtSeconds: farSeconds,
        };
      });
      const request = { reservationId, nowMs, receivedAtMs, leaseMs, makers: limited, orders };
      const firstRepeatAt = chance.oneIn(9) ? 0 : undefined;
      const chargeOnly = chance.oneIn(9);
      return ({ redis }) => reserveOrders(redis, { ...request, chargeOnly, firstRepeatAt });
    }
    case 'settle': {
      const settlement = chance.pick<Settlement>(['appended', 'not_appended', 'unknown']);
      return ({ redis }) => settleReservation(redis, id, [maker], settlement);
    }
    case 'load': {
      const load = { maker, partition, loadId: chance.pick(['l1', 'l2']) };
      const isWhole = chance.oneIn(2);
      const accepted = asked.map((hash) => ({
        orderHash: hash,
        expiresAtSeconds: farSeconds,
        isOpen: chance.oneIn(2),
      }));
      return async (side) => {
        const begun = isWhole ? await beginLoading(side.redis, load, nowMs) : { epoch: await epochNow(side) };
        return typeof begun === 'string' ? begun : finishLoading(side.redis, load, begun.epoch, position, accepted);
      };
    }
    case 'find':
      return async ({ redis }) => (await findHints(redis, asked, nowMs)).hints;
    case 'charge':
      return ({ redis }) => chargeCancels(redis, [{ maker, count }], budget, nowMs);
    case 'cancel':
      return ({ redis }) => noteCancelled(redis, [{ maker, partition, orderHash }]);
    case 'refresh': {
      const prevPos = at.pos - (chance.oneIn(8) ? 1n : 0n);
      at.pos += BigInt(chance.between(1, 3));
      const changes = asked.map((hash): OrderChange => {
        const kind = chance.pick(['opened', 'changed', 'removed'] as const);
        const order = { maker: chance.pick(makers), orderHash: hash, expiresAtSeconds: farSeconds };
        return kind === 'removed'
          ? { kind, ...order }
          : { kind, ...order, salt: '0x1', acceptedOffset: at.pos, record: `at ${at.pos}` };
      });
      const batch = { partition, prevPos, newPos: at.pos, changes };
      return ({ refresher }) => refresher.refreshPartition(batch);
    }
    case 'list': {
      if (chance.oneIn(2)) return async ({ cache }) => (await cache.readList(maker)) ?? 'none';
      const version = at.pos;
      const records = asked.map((hash, index) => {
        return { acceptedOffset: index, expiresAtSeconds: farSeconds, json: Buffer.from(`"${hash} ü"`) };
      });
      return async ({ cache }) => cache.storeList(maker, joinRecords(version, records));
    }
    case 'salt': {
      const salt: Hex = `0x${chance.below(6)}`;
      if (chance.oneIn(4)) return ({ guard }) => guard.releaseSalt(maker, salt);
      return ({ guard }) => guard.takeSalt(maker, salt, nowMs);
    }
  }
}

/** All that is held for a while, but for what names the run of Redis. */
async function dumpOf({ client, keys }: RedisConnection): Promise<Record<string, unknown>> {
  const dump: Record<string, unknown> = {};
  for (const key of (await client.keys(`${keys.prefix}*`)).sort()) {
    const leftMs = await client.pttl(key);
    if (leftMs >= 0 && leftMs < SOON_MS) continue;
    const type = await client.type(key);
    if (type === 'string' && key !== keys.since()) dump[key] = await client.get(key);
    if (type === 'hash') dump[key] = Object.entries(await client.hgetall(key)).sort();
    if (type === 'zset') dump[key] = pairsOf(await client.zrange(key, '0', '-1', 'WITHSCORES')).sort();
  }
  return dump;
}

function pairsOf(flat: readonly string[]): string[][] {
  return Array.from({ length: flat.length / 2 }, (_, index) => flat.slice(2 * index, 2 * index + 2));
}

function dumpInMemory({ entries }: RedisInMemory): Record<string, unknown> {
  const held = [...entries]
    .filter(([key, { untilMs }]) => key !== real.keys.since() && untilMs > Date.now() + SOON_MS)
    .sort();
  return Object.fromEntries(
    held.map(([key, { value }]) => [
      key,
      typeof value === 'string' ? value : [...value].map(([name, of]) => [name, String(of)]).sort(),
    ]),
  );
}

test('whatever is asked of Redis, the one in memory answers the same, and holds the same', async () => {
  const kinds = new Set<string>();
  for (const seed of seeds) {
    await real.attempt(async (client) => {
      const keys = await client.keys(`${keyPrefix}*`);
      if (keys.length > 0) await client.del(...keys);
    });
    const chance = createChance(seed);
    const inMemory = new RedisInMemory(() => Date.now());
    const sides = [open(real), open(inMemory.connect(keyPrefix))] as const;
    for (const { redis } of sides) await findHints(redis, [hashes[0]], Date.now() - LOST_MS);
    const at = { pos: 5n, ids: 0 };
    for (let index = 0; index < STEPS; index += 1) {
      const step = drawStep(chance, at);
      const must = await step(sides[0]);
      const is = await step(sides[1]);
      expect({ seed, index, is }).toEqual({ seed, index, is: must });
      const kind = typeof must === 'object' && must !== null && 'kind' in must ? String(must.kind) : String(must);
      kinds.add(kind);
    }
    expect({ seed, held: dumpInMemory(inMemory) }).toEqual({ seed, held: await dumpOf(real) });
  }
  // It proves something only where each outcome comes up.
  const wanted = [
    'reserved',
    'cold',
    'charged',
    'rate_limited',
    'duplicate',
    'under_way',
    'emptied',
    'too_many_open',
    'cancelled',
    'warm',
    'later',
  ];
  const others = ['overtaken', 'superseded', 'applied', 'reset', 'none', 'filled', 'taken', 'used'];
  expect([...wanted, ...others].filter((kind) => !kinds.has(kind))).toEqual([]);
});
