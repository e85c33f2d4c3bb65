import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { testParts } from '@makerbook/parts';
import { chargeCancels, findHints, noteCancelled } from './cancel-orders.js';
import { connectRedis, type RedisConnection } from './connect.js';
import type { Budget } from './guard-replays.js';
import { beginLoading, finishLoading } from './load-reservations.js';
import { createPartitionRefresher, type PartitionRefresher } from './refresh-partition.js';
import { type ReserveOrders, type ReserveOutcome, type ReservingMaker, reserveOrders } from './reserve-orders.js';
import { settleReservation } from './settle-reservation.js';

const partition = 3;
const maker = `0x${'a1'.repeat(20)}` as const;
const otherMaker = `0x${'b2'.repeat(20)}` as const;
const hashOf = (n: number) => `0x${n.toString(16).padStart(64, '0')}` as const;
/** Ahead of the clock of Redis, which counts where it is later. */
const nowMs = 4_000_000_000_000;
const nowSeconds = nowMs / 1000;
const emptiedAtMs = nowMs - 60_000;
const farSeconds = 4_100_000_000;

const quiet = { info: () => undefined, warn: () => undefined };
const connections: RedisConnection[] = [];
let redis: RedisConnection;
let refresher: PartitionRefresher;
let reservations = 0;

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

const hintsOf = async (ns: readonly number[]) => (await findHints(redis, ns.map(hashOf), nowMs)).hints;
const absent = { kind: 'absent' };
const hinted = (n: number) => {
  const salt = `0x${n.toString(16)}`;
  return { kind: 'hinted', maker, salt, expiresAtSeconds: farSeconds, isCurrent: true };
};
interface AskOptions extends Omit<Partial<ReserveOrders>, 'makers'> {
  readonly makers?: readonly (Pick<ReservingMaker, 'maker' | 'partition'> & Partial<ReservingMaker>)[];
  /** Of each maker without its own. */
  readonly budget?: Budget;
  readonly openOrdersMax?: number;
}
function ask(ns: readonly number[], options: AskOptions = {}): ReserveOrders {
  const {
    makers = [{ maker, partition }],
    budget = { ratePerSecond: 10, burst: 1000 },
    openOrdersMax = 1000,
  } = options;
  reservations += 1;
  return {
    reservationId: `r${reservations}`,
    nowMs,
    receivedAtMs: nowMs,
    leaseMs: 10_000,
    orders: ns.map((n) => ({
      makerIndex: 0,
      orderHash: hashOf(n),
      salt: `0x${n.toString(16)}`,
      expiresAtSeconds: farSeconds,
    })),
    chargeOnly: false,
    firstRepeatAt: undefined,
    ...options,
    makers: makers.map((one) => ({ budget, openOrdersMax, ...one })),
  };
}
const reserve = (ns: readonly number[], options: AskOptions = {}) => reserveOrders(redis, ask(ns, options));
const kinds = (outcomes: readonly ReserveOutcome[]) => outcomes.map(({ kind }) => kind).sort();

/** Makes the maker warm, with these hashes accepted earlier. */
async function warm(
  accepted: { n: number; isOpen: boolean; expires?: number }[] = [],
  {
    who = maker,
    in: where = partition,
    at = nowMs,
  }: { who?: typeof maker | typeof otherMaker; in?: number; at?: number } = {},
): Promise<void> {
  if ((await redis.client.exists(redis.keys.partition(where))) === 0) {
    // Since then nothing was lost.
    await findHints(redis, [hashOf(0)], emptiedAtMs);
    await refresher.refreshPartition({ partition: where, prevPos: 0n, newPos: 1n, changes: [] });
  }
  const loading = { maker: who, partition: where, loadId: `l${randomBytes(4).toString('hex')}` };
  const begun = await beginLoading(redis, loading, at);
  if (typeof begun === 'string') throw new Error(begun);
  const hashes = accepted.map(({ n, isOpen, expires = farSeconds }) => ({
    orderHash: hashOf(n),
    isOpen,
    expiresAtSeconds: expires,
  }));
  expect(await finishLoading(redis, loading, begun.epoch, 1_000_000n, hashes)).toBe('warm');
}
const addressesOf = (asked: ReserveOrders) => asked.makers.map(({ maker }) => maker);
async function settle(outcome: ReserveOutcome, asked: ReserveOrders, how: 'appended' | 'not_appended' | 'unknown') {
  if (outcome.kind !== 'reserved') throw new Error(outcome.kind);
  await settleReservation(redis, asked.reservationId, addressesOf(asked), how);
}
async function reserved(ns: readonly number[], options: AskOptions = {}) {
  const asked = ask(ns, options);
  const outcome = await reserveOrders(redis, asked);
  expect(outcome.kind).toBe('reserved');
  return { asked, settle: (how: 'appended' | 'not_appended' | 'unknown') => settle(outcome, asked, how) };
}

describe('a reservation', () => {
  test('is made once for a hash, however many ask at once', async () => {
    await warm();
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => reserve([1, 2])));
    expect(kinds(outcomes).filter((kind) => kind === 'reserved')).toHaveLength(1);
    expect(kinds(outcomes).filter((kind) => kind === 'under_way')).toHaveLength(49);
  });

  test('counts open orders exactly under concurrency', async () => {
    await warm([{ n: 9_000, isOpen: true }]);
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, (_, i) => reserve([10 * i + 1, 10 * i + 2, 10 * i + 3], { openOrdersMax: 31 })),
    );
    expect(outcomes.filter(({ kind }) => kind === 'reserved')).toHaveLength(10);
    expect(outcomes.filter(({ kind }) => kind === 'too_many_open')).toHaveLength(20);
    expect(outcomes.at(-1)).toMatchObject({ kind: 'too_many_open', index: 0, openOrders: 31 });
  });

  test('of which the append is under way is neither free nor a duplicate; afterwards it is one of them', async () => {
    await warm();
    const first = await reserved([1]);
    expect(await reserve([2, 1])).toEqual({ kind: 'under_way', index: 1 });
    await first.settle('not_appended');
    const second = await reserved([1, 2]);
    await second.settle('appended');
    expect(await reserve([3, 2])).toMatchObject({ kind: 'duplicate', index: 1 });
  });

  test('is not made for a request that arrived before Redis lost what it held: its hash may have been answered as unknown', async () => {
    await warm();
    expect(await reserve([1], { receivedAtMs: emptiedAtMs })).toEqual({ kind: 'emptied' });
    expect((await reserve([1], { receivedAtMs: emptiedAtMs + 1 })).kind).toBe('reserved');
  });

  test('that was taken back leaves no trace: not open, no hint', async () => {
    await warm();
    const first = await reserved([1, 2], { openOrdersMax: 2 });
    expect(await hintsOf([1])).toEqual([hinted(1)]);
    await first.settle('not_appended');
    expect(await hintsOf([1, 2])).toEqual([absent, absent]);
    expect((await reserve([3, 4], { openOrdersMax: 2 })).kind).toBe('reserved');
  });

  test('is found by a cancellation from its beginning, whatever and however late its outcome', async () => {
    await warm();
    const [stored, lost] = [await reserved([1]), await reserved([2]), await reserved([3])];
    expect(await hintsOf([1, 2, 3])).toEqual([hinted(1), hinted(2), hinted(3)]);
    await stored.settle('appended');
    await lost.settle('unknown');
    // The maker is loaded anew: leases without an outcome are dropped.
    expect((await reserve([4], { nowMs: nowMs + 20_000 })).kind).toBe('cold');
    await warm([], { at: nowMs + 20_000 });
    expect(await hintsOf([1, 2, 3])).toEqual([hinted(1), hinted(2), hinted(3)]);
  });

  test('of an order that was cancelled meanwhile and not stored keeps the hash from being placed', async () => {
    await warm();
    const first = await reserved([1, 2], { openOrdersMax: 2 });
    await noteCancelled(redis, [{ maker, partition, orderHash: hashOf(1) }]);
    await first.settle('not_appended');
    expect(await hintsOf([1, 2])).toEqual([{ kind: 'cancelled' }, absent]);
    expect((await reserve([1])).kind).toBe('duplicate');
    expect((await reserve([2, 3], { openOrdersMax: 2, receivedAtMs: nowMs + 1 })).kind).toBe('reserved');
  });

  test('of an order that the projector has removed by then leaves it known, whatever the outcome of the request', async () => {
    await warm();
    const first = await reserved([1, 2]);
    await noteCancelled(redis, [{ maker, partition, orderHash: hashOf(1) }]);
    const removed = { kind: 'removed' as const, maker, orderHash: hashOf(1), expiresAtSeconds: farSeconds };
    await refresher.refreshPartition({ partition, prevPos: 1n, newPos: 2n, changes: [removed] });
    await first.settle('not_appended');
    expect((await reserve([1])).kind).toBe('duplicate');
    expect((await reserve([2])).kind).toBe('reserved');

    const second = await reserved([3]);
    const unnoted = { ...removed, orderHash: hashOf(3) };
    await refresher.refreshPartition({ partition, prevPos: 2n, newPos: 3n, changes: [unnoted] });
    await second.settle('not_appended');
    expect((await reserve([3])).kind).toBe('duplicate');
  });

  test('of an order that was cancelled, and taken back before that was noted, keeps the hash from being placed too', async () => {
    await warm();
    const first = await reserved([1, 2]);
    await first.settle('not_appended');
    await noteCancelled(redis, [{ maker, partition, orderHash: hashOf(2) }]);
    expect(await reserve([1, 2])).toMatchObject({ kind: 'duplicate', index: 1 });
    expect((await reserve([1])).kind).toBe('reserved');
  });

  test('after the partition got another epoch the hint still names the maker, and is current while its request is under way', async () => {
    await warm();
    const [stored] = [await reserved([1]), await reserved([2])];
    await stored.settle('appended');
    await redis.client.hset(redis.keys.partition(partition), 'epoch', 'another');
    expect(await hintsOf([1, 2])).toEqual([{ ...hinted(1), isCurrent: false }, hinted(2)]);
  });

  test('is refused and charged for an order that a DELETE has found absent meanwhile', async () => {
    await warm();
    expect(await hintsOf([1])).toEqual([absent]);
    expect(await reserve([2, 1], { receivedAtMs: nowMs - 5 })).toMatchObject({ kind: 'cancelled', index: 1 });
    expect(await hintsOf([2])).toEqual([absent]);
    expect((await reserve([1], { receivedAtMs: nowMs + 1 })).kind).toBe('reserved');
  });

  test('is refused for what a DELETE has found absent, though an older look-up came to Redis after it', async () => {
    await warm();
    await findHints(redis, [hashOf(1)], nowMs);
    await findHints(redis, [hashOf(1)], nowMs - 1_000);
    expect((await reserve([1], { receivedAtMs: nowMs - 5 })).kind).toBe('cancelled');
  });

  test('Redis records since when it has lost nothing, and starts anew after a flush', async () => {
    const startedAtMs = Date.now();
    const aheadMs = startedAtMs + 3_600_000;
    const sinceAt = async (ms: number) => (await findHints(redis, [hashOf(1)], ms)).since;
    const first = await sinceAt(aheadMs);
    expect(first).toEqual({ id: expect.stringMatching(/^\w+:\d+$/), ms: aheadMs });
    expect(await sinceAt(aheadMs + 5)).toEqual(first);
    await redis.client.del(redis.keys.since());
    expect((await sinceAt(aheadMs + 7))?.ms).toBe(aheadMs + 7);
    await redis.client.set(redis.keys.since(), `anotherrun:${aheadMs}`);
    expect((await sinceAt(aheadMs + 9))?.ms).toBe(aheadMs + 9);
    await redis.client.del(redis.keys.since());
    expect((await sinceAt(startedAtMs - 60_000))?.ms).toBeGreaterThan(startedAtMs - 30_000);
  });

  test('of which the answer was lost is taken back by its name', async () => {
    await warm();
    const { asked } = await reserved([1]);
    await settleReservation(redis, asked.reservationId, addressesOf(asked), 'not_appended');
    expect((await reserve([1])).kind).toBe('reserved');
  });

  test('of unknown end makes its maker cold, and the read model decides', async () => {
    await warm();
    for (const [isStored, kind] of [
      [false, 'reserved'],
      [true, 'duplicate'],
    ] as const) {
      const n = isStored ? 2 : 1;
      const first = await reserved([n]);
      await first.settle('unknown');
      expect(await reserve([7])).toEqual({ kind: 'cold', makerIndexes: [0] });
      await warm(isStored ? [{ n, isOpen: true }] : []);
      expect((await reserve([n])).kind).toBe(kind);
    }
  });

  test('of a process that died heals when its lease has run out', async () => {
    await warm();
    await reserved([1]);
    expect((await reserve([1], { nowMs: nowMs + 9_000 })).kind).toBe('under_way');
    expect((await reserve([1], { nowMs: nowMs + 10_000 })).kind).toBe('cold');
    await warm([], { at: nowMs + 10_000 });
    expect((await reserve([1], { nowMs: nowMs + 10_000 })).kind).toBe('reserved');
  });

  test('of several makers is made for all or for none', async () => {
    await warm();
    await warm([], { who: otherMaker, in: 5 });
    const both = [
      { maker, partition },
      { maker: otherMaker, partition: 5 },
    ];
    const orders = [1, 2, 3].map((n) => ({
      makerIndex: n % 2,
      orderHash: hashOf(n),
      salt: '0x1' as const,
      expiresAtSeconds: farSeconds,
    }));
    const refused = await reserve([], { makers: both, orders, openOrdersMax: 1 });
    expect(refused).toMatchObject({ kind: 'too_many_open', index: 2, openOrders: 0 });
    const outcome = await reserve([], { makers: both, orders });
    expect(outcome).toMatchObject({ kind: 'reserved', remaining: [998, 996] });
    expect(await reserve([], { makers: both, orders: [...orders].reverse() })).toMatchObject({
      kind: 'under_way',
      index: 0,
    });
  });
});

describe('the phases', () => {
  test('the rate is first and charges nothing when it refuses; all that follow have charged', async () => {
    await warm([{ n: 1, isOpen: false }]);
    const budget = { ratePerSecond: 10, burst: 10 };
    expect(await reserve([1, 2, 3], { budget })).toEqual({ kind: 'duplicate', index: 0, remaining: [7] });
    expect(await reserve([2], { budget, chargeOnly: true })).toEqual({ kind: 'charged', remaining: [6] });
    expect(await reserve([2], { budget, openOrdersMax: 0 })).toMatchObject({ kind: 'too_many_open', remaining: [5] });
    expect(await reserve([2, 3, 4, 5, 6, 7, 8], { budget })).toEqual({
      kind: 'rate_limited',
      index: 5,
      retryAfterMs: 200,
      remaining: [5],
    });
    expect(await reserve([2, 3, 4, 5, 6], { budget, nowMs: nowMs + 200 })).toMatchObject({
      kind: 'reserved',
      remaining: [2],
    });
    expect(
      await reserve(
        Array.from({ length: 11 }, (_, i) => i),
        { budget },
      ),
    ).toMatchObject({ kind: 'over_budget', index: 10 });
  });

  test('each maker has limits of its own', async () => {
    await warm();
    await warm([], { who: otherMaker, in: 5 });
    const budget = { ratePerSecond: 1, burst: 2 };
    const orders = [1, 2, 3].map((n) => ({
      makerIndex: n % 2,
      orderHash: hashOf(n),
      salt: '0x1' as const,
      expiresAtSeconds: farSeconds,
    }));
    const [one, two] = [
      { maker, partition },
      { maker: otherMaker, partition: 5 },
    ];
    const both = [one, { ...two, budget, openOrdersMax: 1 }];
    expect(await reserve([], { makers: both, orders })).toMatchObject({ kind: 'too_many_open', index: 2 });
    // The maker of two orders has spent its burst, and the other one has hardly begun.
    expect(await reserve([], { makers: both, orders })).toMatchObject({
      kind: 'rate_limited',
      index: 0,
      retryAfterMs: 2000,
      remaining: [999, 0],
    });
    const wider = [one, { ...two, budget: { ratePerSecond: 1, burst: 3 } }];
    expect(await reserve([], { makers: wider, orders, nowMs: nowMs + 2000 })).toMatchObject({
      kind: 'reserved',
      remaining: [999, 0],
    });
  });

  test('a budget fills at its rate up to its burst, and a clock that goes back takes nothing away', async () => {
    await warm();
    const budget = { ratePerSecond: 2, burst: 4 };
    const left = async (n: number, at: number) => {
      const outcome = await reserve([n], { budget, nowMs: nowMs + at, leaseMs: 600_000 });
      return 'remaining' in outcome ? `${outcome.kind} ${outcome.remaining.join()}` : outcome.kind;
    };
    expect(await left(1, 0)).toBe('reserved 3');
    expect(await left(2, 0)).toBe('reserved 2');
    expect(await left(3, -60_000)).toBe('reserved 1');
    expect(await left(4, 500)).toBe('reserved 1');
    expect(await left(5, 8_000)).toBe('reserved 3');
  });

  test('a repeat inside the request counts at its index among the duplicates', async () => {
    await warm([{ n: 5, isOpen: true }]);
    expect(await reserve([1, 1, 5], { firstRepeatAt: 1 })).toMatchObject({ kind: 'duplicate', index: 1 });
    expect(await reserve([5, 1, 1], { firstRepeatAt: 2 })).toMatchObject({ kind: 'duplicate', index: 0 });
    expect((await reserve([1])).kind).toBe('reserved');
  });

  test('a budget outlives a new owner of the partition', async () => {
    await warm();
    await (await reserved([1, 2, 3], { budget: { ratePerSecond: 1, burst: 5 } })).settle('appended');
    await refresher.refreshPartition({ partition, prevPos: 90n, newPos: 91n, changes: [] });
    await warm();
    expect(await reserve([4], { budget: { ratePerSecond: 1, burst: 5 } })).toMatchObject({ remaining: [1] });
  });
});

describe('a cold maker', () => {
  test('is cold until the projector has published its position, then until it was loaded', async () => {
    const loading = { maker, partition, loadId: 'l1' };
    expect(await reserve([1])).toEqual({ kind: 'cold', makerIndexes: [0] });
    expect(await beginLoading(redis, loading, nowMs)).toBe('later');
    await refresher.refreshPartition({ partition, prevPos: 0n, newPos: 7n, changes: [] });
    expect((await reserve([1])).kind).toBe('cold');
    const begun = await beginLoading(redis, loading, nowMs);
    expect(await beginLoading(redis, { ...loading, loadId: 'l2' }, nowMs)).toBe('later');
    expect((await reserve([1])).kind).toBe('cold');
    if (typeof begun === 'string') throw new Error(begun);
    expect(await finishLoading(redis, loading, begun.epoch, 6n, [])).toBe('overtaken');
    expect(await finishLoading(redis, loading, begun.epoch, 7n, [])).toBe('warm');
    expect(await beginLoading(redis, { ...loading, loadId: 'l3' }, nowMs)).toBe('warm');
    expect((await reserve([1], { receivedAtMs: nowMs + 1 })).kind).toBe('reserved');
  });

  test('is loaded by another when the first loader does not finish', async () => {
    await refresher.refreshPartition({ partition, prevPos: 0n, newPos: 1n, changes: [] });
    const begun = await beginLoading(redis, { maker, partition, loadId: 'l1' }, nowMs);
    const taken = await beginLoading(redis, { maker, partition, loadId: 'l2' }, nowMs + 3_000);
    if (typeof begun === 'string' || typeof taken === 'string') throw new Error('neither began');
    expect(await finishLoading(redis, { maker, partition, loadId: 'l1' }, begun.epoch, 1n, [])).toBe('superseded');
    expect(await finishLoading(redis, { maker, partition, loadId: 'l2' }, taken.epoch, 1n, [])).toBe('warm');
  });

  test('knows thousands of hashes: what is removed is a duplicate and does not count as open', async () => {
    const accepted = Array.from({ length: 5_000 }, (_, i) => ({ n: i, isOpen: i % 2 === 0 }));
    await warm(accepted);
    expect(await reserve([4_999])).toMatchObject({ kind: 'duplicate' });
    expect(await reserve([9_999], { openOrdersMax: 2_500 })).toMatchObject({
      kind: 'too_many_open',
      openOrders: 2_500,
    });
    expect((await reserve([9_999], { openOrdersMax: 2_501 })).kind).toBe('reserved');
  });

  test('what the projector does while it is being loaded is not undone by the older snapshot', async () => {
    await refresher.refreshPartition({ partition, prevPos: 0n, newPos: 1n, changes: [] });
    const loading = { maker, partition, loadId: 'l1' };
    const begun = await beginLoading(redis, loading, nowMs);
    if (typeof begun === 'string') throw new Error(begun);
    const removed = { kind: 'removed' as const, maker, orderHash: hashOf(1), expiresAtSeconds: farSeconds };
    await refresher.refreshPartition({ partition, prevPos: 1n, newPos: 2n, changes: [removed] });
    const open = [{ orderHash: hashOf(1), expiresAtSeconds: farSeconds, isOpen: true }];
    expect(await finishLoading(redis, loading, begun.epoch, 1n, open)).toBe('overtaken');
    const gone = [{ orderHash: hashOf(1), expiresAtSeconds: farSeconds, isOpen: false }];
    expect(await finishLoading(redis, loading, begun.epoch, 2n, gone)).toBe('warm');
    const receivedAtMs = Date.now() + 60_000;
    expect((await reserve([2], { openOrdersMax: 1, receivedAtMs })).kind).toBe('reserved');
    expect(await reserve([1], { receivedAtMs })).toMatchObject({ kind: 'duplicate' });
  });

  test('is made by a flush, also in the middle of a request; the old reservation harms nothing', async () => {
    await warm();
    const first = await reserved([1]);
    const keys = await redis.client.keys(`${redis.keys.prefix}*`);
    await redis.client.del(keys);
    expect((await reserve([2])).kind).toBe('cold');
    await warm();
    const second = await reserved([1]);
    await first.settle('not_appended');
    expect((await reserve([1])).kind).toBe('under_way');
    await second.settle('appended');
    expect((await reserve([1])).kind).toBe('duplicate');
  });

  test('is made by a refresh that was missed, with nothing of the old epoch left in sight', async () => {
    await warm([{ n: 1, isOpen: true }]);
    expect(await refresher.refreshPartition({ partition, prevPos: 50n, newPos: 51n, changes: [] })).toBe('reset');
    expect((await reserve([1])).kind).toBe('cold');
  });

  test('is not loaded while it has anything under way since before a missed refresh, or before several', async () => {
    await warm();
    const first = await reserved([1]);
    for (const newPos of [51n, 41n]) {
      const missed = { partition, prevPos: newPos - 1n, newPos, changes: [] };
      expect(await refresher.refreshPartition(missed)).toBe('reset');
      expect((await reserve([2, 1])).kind).toBe('cold');
      expect(await beginLoading(redis, { maker, partition, loadId: 'l1' }, nowMs)).toBe('later');
    }
    await warm([], { who: otherMaker });
    await first.settle('appended');
    await warm([{ n: 1, isOpen: true }]);
    expect(await reserve([1])).toMatchObject({ kind: 'duplicate' });
    expect((await reserve([2])).kind).toBe('reserved');
  });

  test('is loaded once the lease of what was under way before a missed refresh has run out', async () => {
    await warm();
    await reserved([1]);
    expect(await refresher.refreshPartition({ partition, prevPos: 50n, newPos: 51n, changes: [] })).toBe('reset');
    await warm([], { at: nowMs + 10_000 });
    expect((await reserve([1])).kind).toBe('reserved');
  });
});

describe('open orders and known hashes', () => {
  test('an expired order no longer counts, and its hash is forgotten some time later', async () => {
    await warm([{ n: 1, isOpen: true, expires: nowSeconds + 10 }]);
    expect((await reserve([2], { openOrdersMax: 1, nowMs: nowMs + 9_000 })).kind).toBe('too_many_open');
    const later = { openOrdersMax: 1, nowMs: nowMs + 10_000 };
    const { settle } = await reserved([2], later);
    await settle('appended');
    const epoch = (await redis.client.hget(redis.keys.partition(partition), 'epoch')) ?? '';
    expect(await redis.client.zscore(redis.keys.seen(epoch, maker), hashOf(1))).toBe(String(nowSeconds + 10));
    await (await reserved([3], { nowMs: nowMs + 320_000 })).settle('appended');
    expect(await redis.client.zscore(redis.keys.seen(epoch, maker), hashOf(1))).toBeNull();
    expect(await redis.client.zcard(redis.keys.open(epoch, maker))).toBe(2);
  });

  test('an acknowledged cancellation frees room and is known at once; the projector’s later refresh does not undo it', async () => {
    await warm();
    await (await reserved([1], { openOrdersMax: 1 })).settle('appended');
    await noteCancelled(redis, [{ maker, partition, orderHash: hashOf(1) }]);
    expect(await hintsOf([1])).toEqual([{ kind: 'cancelled' }]);
    const opened = {
      maker,
      orderHash: hashOf(1),
      salt: '0x1',
      acceptedOffset: 1n,
      expiresAtSeconds: farSeconds,
      record: '{}',
    };
    await refresher.refreshPartition({
      partition,
      prevPos: 1n,
      newPos: 2n,
      changes: [{ kind: 'opened', ...opened, salt: '0x1' }],
    });
    expect(await hintsOf([1])).toEqual([{ kind: 'cancelled' }]);
    await refresher.refreshPartition({ partition, prevPos: 2n, newPos: 3n, changes: [{ kind: 'removed', ...opened }] });
    expect((await reserve([2], { openOrdersMax: 1 })).kind).toBe('reserved');
    expect((await reserve([1])).kind).toBe('duplicate');
  });

  test('every key that a request leaves behind has an end', async () => {
    await warm([{ n: 1, isOpen: true }]);
    await reserved([2]);
    await chargeCancels(redis, [{ maker, count: 1 }], { ratePerSecond: 1, burst: 5 }, nowMs);
    await noteCancelled(redis, [{ maker, partition, orderHash: hashOf(9) }]);
    const keys = await redis.client.keys(`${redis.keys.prefix}*`);
    const lasting: string[] = [];
    for (const name of keys) if ((await redis.client.ttl(name)) < 0) lasting.push(name);
    expect(lasting.sort()).toEqual([redis.keys.partition(partition), redis.keys.since()]);
  });
});

test('cancellations are charged for all makers or for none', async () => {
  const budget = { ratePerSecond: 2, burst: 10 };
  const charge = (a: number, b: number) =>
    chargeCancels(
      redis,
      [
        { maker, count: a },
        { maker: otherMaker, count: b },
      ],
      budget,
      nowMs,
    );
  expect(await charge(4, 10)).toEqual({ kind: 'charged', remaining: [6, 0] });
  expect(await charge(1, 3)).toEqual({ kind: 'rate_limited', makerIndex: 1, retryAfterMs: 1500, remaining: [6, 0] });
  expect(await charge(6, 0)).toEqual({ kind: 'charged', remaining: [0, 0] });
});
