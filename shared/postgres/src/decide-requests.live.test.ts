import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { testParts } from '@makerbook/parts';
import { byteaOf, connectPostgres } from './connect-postgres.js';
import {
  type MarkUnplacedRequest,
  openPlacementStore,
  type PlacementStore,
  type PlaceRequest,
} from './decide-requests.js';
import { migrate } from './migrate.js';
import { addressOf, hashOf, insertRow, openTestDatabase } from './testing/open-test-database.js';

const NOW = 1_700_000_000_000;
const partition = 3;
const [maker, other] = [addressOf(1), addressOf(2)];
const budget = { ratePerSecond: 100, burst: 1000 };

const postgres = await openTestDatabase();
const store = openPlacementStore(postgres);
afterAll(() => postgres.close());
beforeEach(async () => {
  for (const table of ['budgets', 'in_flight', 'cancelling', 'trust', 'hashes', 'orders', 'makers']) {
    await postgres.query(`delete from ${table}`);
  }
  const { sinceMs } = await store.beginTrust(NOW - 1000);
  await store.endTrust(sinceMs);
});

/** The one maker of a request. */
function makerWith(given: Partial<PlaceRequest['makers'][number]>): Pick<PlaceRequest, 'makers'> {
  return { makers: [{ maker, partition, budget, openOrdersMax: 1000, ...given }] };
}

function orderOf(number: number, makerIndex = 0) {
  const expiresAtSeconds = NOW / 1000 + 60;
  return { orderHash: hashOf(number), makerIndex, salt: '0x7', nonce: 0n, expiresAtSeconds } as const;
}

function requestOf(numbers: readonly number[], more: Partial<PlaceRequest> = {}): PlaceRequest {
  return {
    nowMs: NOW,
    receivedAtMs: NOW,
    lastsMs: 8_000,
    ...makerWith({}),
    orders: numbers.map((number) => orderOf(number)),
    rememberedMax: 10_000_000,
    chargeOnly: false,
    firstRepeatAt: undefined,
    ...more,
  };
}

/** Two makers, in the order of their addresses: the orders go to them in turn. */
function ofTwo(count: number, burst: number): Partial<PlaceRequest> {
  const limits = { partition, budget: { ratePerSecond: 100, burst }, openOrdersMax: 1000 };
  return {
    makers: [maker, other].map((one) => ({ maker: one, ...limits })),
    orders: Array.from({ length: count }, (_, number) => orderOf(number, number % 2)),
  };
}

/** As the fold has it: the order is open, and what was in flight is gone. */
async function openOrder(number: number, expiresAtSeconds = NOW / 1000 + 60): Promise<void> {
  const order = { order_hash: hashOf(number), maker, expires_at_seconds: expiresAtSeconds };
  await postgres.query('delete from in_flight where order_hash = $1', [byteaOf(hashOf(number))]);
  await insertRow(postgres, 'orders', { ...order, accepted_offset: number, record_start: '{"order":{"salt":"0x9"}' });
  await insertRow(postgres, 'hashes', order);
  await postgres.query(
    `insert into makers (maker, partition, admission, open_orders, remembered) values ($1, 3, 'ADMITTED', 1, 1)
     on conflict (maker) do update set open_orders = makers.open_orders + 1, remembered = makers.remembered + 1`,
    [byteaOf(maker)],
  );
}

describe('a request to place orders', () => {
  test('of one hash at once places it once', async () => {
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => store.place(requestOf([1]))));
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual([...Array(7).fill('in_flight'), 'placed']);
  });

  test('of many processes at once exceeds neither the open orders nor the budget of a maker', async () => {
    const stores = [store, openPlacementStore(postgres), openPlacementStore(postgres)];
    const placeAll = async (from: number, limits: Parameters<typeof makerWith>[0]) => {
      const outcomes = await Promise.all(
        Array.from({ length: 60 }, (_, n) => stores[n % 3]?.place(requestOf([from + n], makerWith(limits)))),
      );
      const byKind = Map.groupBy(outcomes, (outcome) => outcome?.kind);
      return Object.fromEntries([...byKind].map(([kind, all]) => [kind, all.length]));
    };
    expect(await placeAll(100, { openOrdersMax: 20 })).toEqual({ placed: 20, too_many_open: 40 });
    expect(await remainingOf([maker, other])).toEqual([940, null]);
    await postgres.query('delete from budgets');
    const small = { ratePerSecond: 1, burst: 15 };
    expect(await placeAll(200, { budget: small })).toEqual({ placed: 15, rate_limited: 45 });
  });

  test('of several makers at once, one of whom is refused, charges each what it is told', async () => {
    const orders = (from: number) => [orderOf(from), orderOf(from + 1)];
    const place = (from: number, given: Parameters<typeof makerWith>[0] = {}) =>
      store.place(requestOf([], { ...makerWith(given), orders: orders(from) }));
    const held = [place(1), place(3), place(5, { maker: other }), place(7), place(9)];
    const outcomes = (await Promise.all(held)).map((outcome) => ('remaining' in outcome ? outcome.remaining[0] : 0));
    expect(outcomes).toEqual([998, 996, 998, 994, 992]);
    await openOrder(20);
    const mixed = [place(11), place(13, { maker: other }), place(19), place(15), place(17)];
    expect((await Promise.all(mixed)).map(({ kind }) => kind)).toEqual([
      ...['placed', 'placed', 'duplicate', 'placed', 'placed'],
    ]);
    expect(await remainingOf([maker, other])).toEqual([985, 996]);
  });

  test('is limited by what the budget holds, which fills with time', async () => {
    const small = makerWith({ budget: { ratePerSecond: 2, burst: 3 } });
    expect(await store.place(requestOf([1, 2, 3, 4], small))).toEqual({
      kind: 'over_budget',
      index: 3,
      remaining: [3],
    });
    expect(await store.place(requestOf([1, 2], small))).toMatchObject({ kind: 'placed', remaining: [1] });
    expect(await store.place(requestOf([3, 4, 5], small))).toEqual({
      kind: 'rate_limited',
      index: 1,
      retryAfterMs: 1000,
      remaining: [1],
    });
    const later = { ...small, nowMs: NOW + 1000, receivedAtMs: NOW + 1000 };
    expect(await store.place(requestOf([3, 4, 5], later))).toMatchObject({ kind: 'placed', remaining: [0] });
  });

  test('charges all makers or none, and names the lowest index', async () => {
    expect(await store.place(requestOf([], ofTwo(5, 2)))).toMatchObject({ kind: 'over_budget', index: 4 });
    expect(await store.place(requestOf([], ofTwo(4, 2)))).toMatchObject({ kind: 'placed', remaining: [0, 0] });
  });

  test('that fails a later check is charged all the same', async () => {
    const charged = await store.place(requestOf([1], { chargeOnly: true }));
    expect(charged).toEqual({ kind: 'charged', known: 0, remaining: [999] });
    await store.place(requestOf([1], makerWith({ openOrdersMax: 0 })));
    expect(await store.place(requestOf([2]))).toMatchObject({ kind: 'placed', remaining: [997] });
  });

  test('is charged for the orders alone that are not known: anybody can repeat the others', async () => {
    await openOrder(1);
    await openOrder(2);
    const small = makerWith({ budget: { ratePerSecond: 1, burst: 3 } });
    const place = (numbers: readonly number[], more: Partial<PlaceRequest> = {}) =>
      store.place(requestOf(numbers, { ...small, ...more }));
    expect(await place([1, 2, 1, 1], { firstRepeatAt: 2 })).toEqual({
      kind: 'duplicate',
      index: 0,
      known: 4,
      remaining: [3],
    });
    expect(await place([1, 3, 2], { chargeOnly: true })).toEqual({ kind: 'charged', known: 2, remaining: [2] });
    expect(await place([4, 1, 5])).toEqual({ kind: 'duplicate', index: 1, known: 1, remaining: [0] });
    // The budget is spent.
    expect(await place([2])).toEqual({ kind: 'duplicate', index: 0, known: 1, remaining: [0] });
    expect(await place([1, 6, 2])).toMatchObject({ kind: 'rate_limited', index: 1 });
    expect(await place([1, 6, 7, 8, 9])).toMatchObject({ kind: 'over_budget', index: 4 });
    await postgres.query('update makers set nonce = 1, nonce_block = 1');
    await postgres.query('delete from budgets');
    expect(await place([6])).toMatchObject({ kind: 'nonce_passed', remaining: [3] });
  });

  test('is refused beyond the open orders: those in flight count, those being cancelled do not', async () => {
    const two = makerWith({ openOrdersMax: 2 });
    await openOrder(1);
    await store.place(requestOf([2], two));
    expect(await store.place(requestOf([3], two))).toMatchObject({ kind: 'too_many_open', index: 0, count: 2 });
    await store.markCancelling(marking([1]));
    expect(await store.place(requestOf([3], two))).toMatchObject({ kind: 'placed' });
    await store.markCancelling(marking([2, 2, 1]));
    expect(await store.place(requestOf([4, 5], two))).toMatchObject({ kind: 'too_many_open', index: 1 });
    expect(await store.place(requestOf([4], two))).toMatchObject({ kind: 'placed' });
  });

  test('takes no account of orders that have expired by the clock of the request', async () => {
    await openOrder(1, NOW / 1000);
    expect(await store.place(requestOf([2], makerWith({ openOrdersMax: 1 })))).toMatchObject({ kind: 'placed' });
  });

  test('is refused beyond the hashes that are remembered', async () => {
    await openOrder(1);
    const outcome = await store.place(requestOf([2, 3], { rememberedMax: 2 }));
    expect(outcome).toMatchObject({ kind: 'too_many_remembered', index: 1, count: 1 });
  });

  test('waits for a maker who is in quarantine, and nobody else does', async () => {
    await openOrder(1);
    await postgres.query(
      `update makers set quarantined_offset = 1, quarantine_reason = 'x', quarantine_clock = '{}' where maker = $1`,
      [byteaOf(maker)],
    );
    expect(await store.place(requestOf([2]))).toEqual({ kind: 'quarantined' });
    expect(await store.place(requestOf([2], makerWith({ maker: other })))).toMatchObject({ kind: 'placed' });
    expect(await store.findOrders([hashOf(3)], NOW, true)).toEqual([{ state: 'UNKNOWN' }]);
  });

  test('counts by the clock of the server where that of the request is behind, and by its own where it is ahead', async () => {
    const startedAtMs = Date.now();
    const isOfServer = (untilMs: number) => Math.abs(untilMs - startedAtMs - 8_000) < 60_000;
    expect(isOfServer(await placed(requestOf([1])))).toBe(true);
    expect(await store.markCancelling(marking([1]))).toMatchObject({
      untilMs: expect.closeTo(startedAtMs + 8_000, -6),
    });
    const nowMs = startedAtMs + 3_600_000;
    expect(await placed(requestOf([2], { nowMs }))).toBe(nowMs + 8_000);
  });

  test('whose append stored nothing leaves nothing behind', async () => {
    const untilMs = await placed(requestOf([1]));
    await store.release([hashOf(1)], untilMs);
    expect(await placed(requestOf([1]))).toBeGreaterThanOrEqual(untilMs);
    await store.release([hashOf(1)], untilMs - 1);
    expect(await store.place(requestOf([1]))).toMatchObject({ kind: 'in_flight' });
  });
});

/** What is left of the makers' budgets for orders. */
async function remainingOf(makers: readonly Hex[]): Promise<(number | null)[]> {
  const rows = await postgres.query<{ left: number | null }>(
    `select floor(tokens)::integer as left from unnest($1::bytea[]) with ordinality as m (maker, at)
     left join budgets using (maker) order by at`,
    [makers.map(byteaOf)],
  );
  return rows.map(({ left }) => left);
}

async function placed(request: PlaceRequest): Promise<number> {
  const outcome = await store.place(request);
  if (outcome.kind !== 'placed') throw new Error(`the request is ${outcome.kind}`);
  return outcome.untilMs;
}

const charging = { nowMs: NOW, lastsMs: 8_000, budget: { ratePerSecond: 2, burst: 5 } };
const marking = (numbers: readonly number[]) => ({
  ...charging,
  makers: [{ maker, partition }],
  hashes: numbers.map((number) => orderOf(number)),
});

describe('all orders of a maker', () => {
  const markAll = (scope: Parameters<PlacementStore['markAll']>[0]['scope'], count = 1) =>
    store.markAll({ ...charging, maker, partition, count, scope });

  test('are marked where they were accepted by then, and sell and want these tokens', async () => {
    for (const number of [1, 2, 3]) await openOrder(number);
    await postgres.query('update orders set accepted_at_ms = $2 where order_hash = $1', [byteaOf(hashOf(3)), NOW + 1]);
    await postgres.query(
      `update orders set making_token = $2, record_start = '{"order":{"taking":{"token":"0xb2"}}' where order_hash = $1`,
      [byteaOf(hashOf(2)), byteaOf(addressOf(0xaa))],
    );
    const [untilMs, mark] = [NOW, hashOf(99)];
    expect((await markAll({ untilMs, mark, making: addressOf(0xaa) })).orderHashes).toEqual([mark, hashOf(2)]);
    await postgres.query('delete from cancelling');
    expect((await markAll({ untilMs, mark, taking: '0xb2' })).orderHashes).toEqual([mark, hashOf(2)]);
    expect((await markAll({ untilMs, mark, taking: '0xb3' })).orderHashes).toEqual([mark]);
    const all = await markAll({ untilMs, mark });
    // The other is marked already.
    expect(all.orderHashes).toEqual([mark, hashOf(1)]);
    const two = makerWith({ openOrdersMax: 2 });
    expect(await store.place(requestOf([4], two))).toMatchObject({ kind: 'placed' });
    if (all.kind === 'marked') await store.release(all.orderHashes, all.untilMs);
    const [left] = await postgres.query<{ count: bigint }>('select count(*) from cancelling');
    expect(left?.count).toBe(3n);
  });

  test('are not marked where the budget does not hold what it costs', async () => {
    await openOrder(1);
    expect(await markAll({ untilMs: NOW, mark: hashOf(99) }, 6)).toEqual({
      kind: 'rate_limited',
      makerIndex: 0,
      retryAfterMs: 500,
      remaining: [5],
      orderHashes: [],
    });
    expect(await markAll({ untilMs: NOW - 1, mark: hashOf(99) }, 5)).toMatchObject({ kind: 'marked', remaining: [0] });
  });
});

describe('hashes that are to be cancelled', () => {
  test('are found while they are open and while they are in flight, with maker and salt', async () => {
    await openOrder(1);
    await store.place(requestOf([2]));
    const known = { state: 'FOUND', maker, expiresAtSeconds: NOW / 1000 + 60 };
    expect(await store.findOrders([hashOf(2), hashOf(1), hashOf(2)], NOW, true)).toEqual([
      { ...known, salt: '0x7', isInFlight: true },
      { ...known, salt: '0x9', isInFlight: false },
      { ...known, salt: '0x7', isInFlight: true },
    ]);
  });

  test('have what is left of them, as far as the fold has seen', async () => {
    await openOrder(1);
    await postgres.query('update orders set making_amount = 100, remaining = 40');
    await store.place(requestOf([2]));
    const left = { making: 100n, remaining: 40n };
    expect(await store.readAmounts([hashOf(2), hashOf(1), hashOf(3), hashOf(1)])).toEqual([
      ...[undefined, left, undefined, left],
    ]);
  });

  test('are told unknown, or placed, and never both', async () => {
    for (let number = 0; number < 100; number += 1) {
      const [[found], placed] = await Promise.all([
        store.findOrders([hashOf(number)], NOW, true),
        store.place(requestOf([number])),
      ]);
      expect([found?.state, placed.kind]).toEqual(
        found?.state === 'FOUND' ? ['FOUND', 'placed'] : ['UNKNOWN', 'told_unknown'],
      );
    }
  });

  test('that may not be noted are not told unknown', async () => {
    expect(await store.findOrders([hashOf(1)], NOW, false)).toEqual([{ state: 'UNSURE' }]);
    expect(await store.place(requestOf([1]))).toMatchObject({ kind: 'placed' });
  });

  test('are charged to a budget of their own', async () => {
    expect(await store.markCancelling(marking([1, 2, 3]))).toMatchObject({ kind: 'marked', remaining: [2] });
    expect(await store.markCancelling(marking([4, 5, 6]))).toEqual({
      kind: 'rate_limited',
      makerIndex: 0,
      retryAfterMs: 500,
      remaining: [2],
    });
  });

  test('cannot be posted again while their cancellation is on its way', async () => {
    await store.markCancelling(marking([1]));
    expect(await store.place(requestOf([1]))).toEqual({ kind: 'in_flight', index: 0 });
  });
});

describe('hashes that nobody has placed', () => {
  const unplaced = (numbers: readonly number[], more: Partial<MarkUnplacedRequest> = {}) =>
    store.markUnplaced({
      ...{ ...charging, maker, partition, rememberedMax: 100 },
      orderHashes: numbers.map(hashOf),
      ...more,
    });

  test('are charged to the budget of orders, and a repeat is not charged again', async () => {
    expect(await unplaced([1, 2, 3])).toMatchObject({ kind: 'marked', remaining: 2 });
    expect(await unplaced([3, 1, 4])).toMatchObject({ kind: 'marked', remaining: 1 });
    expect(await unplaced([5, 6, 1])).toEqual({ kind: 'rate_limited', retryAfterMs: 500, remaining: 1 });
    expect(await unplaced([11, 12, 13, 14, 15, 16])).toEqual({ kind: 'over_budget', remaining: 1 });
    // What is open or placed is known already.
    await openOrder(20);
    await store.place(requestOf([21]));
    expect(await unplaced([20, 21, 1], { budget: { ratePerSecond: 1, burst: 1 } })).toMatchObject({ kind: 'marked' });
    expect(await store.markCancelling(marking([1, 2, 3, 4, 5]))).toMatchObject({ kind: 'marked', remaining: [0] });
  });

  test('count as remembered while they are on their way, with the orders of their maker, and a repeat does not', async () => {
    const bounded = { budget, rememberedMax: 5 };
    await openOrder(1);
    await store.place(requestOf([2]));
    expect(await unplaced([3, 4], bounded)).toMatchObject({ kind: 'marked', remaining: 997 });
    expect(await unplaced([5, 6], bounded)).toEqual({ kind: 'too_many_remembered', count: 4, remaining: 995 });
    expect(await unplaced([5], bounded)).toMatchObject({ kind: 'marked' });
    expect(await unplaced([3, 1, 2, 5], { ...bounded, rememberedMax: 1 })).toMatchObject({ kind: 'marked' });
    expect(await unplaced([6], bounded)).toMatchObject({ kind: 'too_many_remembered', count: 5 });
    expect(await unplaced([6], { ...bounded, maker: other })).toMatchObject({ kind: 'marked' });
  });

  test('of many processes at once do not exceed the bound', async () => {
    const stores = [store, openPlacementStore(postgres), openPlacementStore(postgres)];
    const asked = { ...charging, budget, maker, partition, rememberedMax: 20 };
    const outcomes = await Promise.all(
      Array.from({ length: 60 }, (_, n) => stores[n % 3]?.markUnplaced({ ...asked, orderHashes: [hashOf(100 + n)] })),
    );
    expect(outcomes.filter((outcome) => outcome?.kind === 'marked')).toHaveLength(20);
  });

  test('cannot be posted while their cancellation is on its way, and are released where it was not stored', async () => {
    const outcome = await unplaced([1]);
    expect(await store.place(requestOf([1]))).toEqual({ kind: 'in_flight', index: 0 });
    if (outcome.kind === 'marked') await store.release([hashOf(1)], outcome.untilMs);
    expect(await store.place(requestOf([1]))).toMatchObject({ kind: 'placed' });
  });
});

describe('a server that may have lost something', () => {
  test('as a new database has lost nothing: it is trusted once the log is folded', async () => {
    const url = await testParts().databaseUrl();
    await migrate({ url, connectTimeoutMs: 60_000 });
    const fresh = connectPostgres({ url, connectTimeoutMs: 60_000 });
    expect(await openPlacementStore(fresh).beginTrust(NOW)).toEqual({ sinceMs: 0, isTrusted: false });
    await fresh.close();
  });

  test('decides nothing until it is trusted again, and nothing about requests that came before', async () => {
    await postgres.query('delete from trust');
    expect(await store.place(requestOf([1]))).toEqual({ kind: 'untrusted' });
    expect(await store.findOrders([hashOf(1)], NOW, true)).toEqual([{ state: 'UNSURE' }]);
    expect(await store.beginTrust(NOW)).toEqual({ sinceMs: NOW, isTrusted: false });
    expect(await store.beginTrust(NOW + 5)).toEqual({ sinceMs: NOW, isTrusted: false });
    expect(await store.place(requestOf([1]))).toEqual({ kind: 'untrusted' });
    await store.endTrust(NOW);
    expect(await store.place(requestOf([1], { receivedAtMs: NOW }))).toEqual({ kind: 'untrusted' });
    expect(await store.place(requestOf([1], { receivedAtMs: NOW + 1 }))).toMatchObject({ kind: 'placed' });
  });

  test('that was restarted cleanly has lost nothing, and is trusted once the log is folded', async () => {
    await postgres.query(`update trust set started_at = started_at - interval '1 s'`);
    expect(await store.place(requestOf([1]))).toEqual({ kind: 'untrusted' });
    expect(await store.beginTrust(NOW + 7)).toEqual({ sinceMs: NOW - 1000, isTrusted: false });
    await store.endTrust(NOW - 1000);
    expect(await store.place(requestOf([1]))).toMatchObject({ kind: 'placed' });
  });

  test('into which a dump was restored is not trusted by what the dump says', async () => {
    await postgres.query(`update trust set table_id = 1`);
    expect(await store.place(requestOf([1]))).toEqual({ kind: 'untrusted' });
    expect(await store.beginTrust(NOW + 7)).toEqual({ sinceMs: NOW - 1000, isTrusted: false });
  });
});
