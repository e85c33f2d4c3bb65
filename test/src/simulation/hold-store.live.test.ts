import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { topicNames } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { LogInMemory } from '@makerbook/kafka/testing';
import { sendAtOnce, testParts } from '@makerbook/parts';
import {
  connectPostgres,
  type HistoryEntry,
  type HistoryPlace,
  happenings,
  migrate,
  openPlacementStore,
  openProjectionStore,
  openReadModel,
  type PlacementStore,
  type Postgres,
  type ProjectionStore,
  placeOfEntry,
  type ReadModel,
  readOpenOrders,
} from '@makerbook/postgres';
import { createTestProjector, drawStream, makersOf, orderOf } from '@makerbook/projector/testing';
import { StoreInMemory } from './hold-store.js';

const topics = topicNames();
const partitions = 2;
const partition = 0;
const makers = makersOf(partition, partitions, 3);
const ORDERS = 8;
const numbers = Array.from({ length: ORDERS }, (_, number) => number);

let postgres: Postgres;
beforeAll(async () => {
  const url = await testParts().databaseUrl();
  await migrate({ url });
  postgres = connectPostgres({ url, connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 });
});
afterAll(() => postgres.close());

/** Has the log folded into the rows. */
async function projectInto(store: ProjectionStore, seed: number): Promise<void> {
  const log = new LogInMemory({ partitions });
  for (const record of drawStream(seed, makers, partition, { facts: 150, orders: ORDERS })) log.put(record);
  const view = log.connect();
  const projector = createTestProjector({
    store,
    log: view,
    createFencedPublisher: view.createFencedPublisher,
    topics,
    partitions,
  });
  const fromOffset = await projector.positionOf(partition);
  const records = log.records(topics.makerEvents, partition).map(projector.decode);
  const nextOffset = log.end(topics.makerEvents, partition);
  const hold = { assertOwned: () => undefined, park: async () => undefined };
  await projector.handleBatch({ partition, records, fromOffset, nextOffset }, hold);
  await projector.onRevoked(partition);
}

/** All that a projector asks of the rows, in any order. */
async function readRows(store: ProjectionStore) {
  const { projection, due, quarantined } = await store.takeProjection(partition);
  const { positions: _, ...rows } = await store.readMakers(partition, makers);
  const keys = makers.flatMap((maker) => numbers.map((number) => ({ maker, ...orderOf(maker, number) })));
  const { hashes } = await store.findKnownHashes(partition, keys);
  const sorted = Object.values({ due, hashes, ...rows }).map((all: readonly unknown[]) =>
    all.map((row) => inspect(row, { sorted: true })).sort(),
  );
  return { projection, quarantined, sorted };
}

const NOW_MS = 1_700_000_000_000;
const budget = { ratePerSecond: 1, burst: 1_000 };
const LASTS_MS = 10_000;

/** Places every other order of each maker anew, cancels some, and notes down all that can be learned on the way. */
async function decideInto(store: PlacementStore) {
  const outcomes: unknown[] = [];
  const { sinceMs } = await store.beginTrust(NOW_MS - 1_000);
  const place = (maker: Hex, numbers: readonly number[], receivedAtMs: number, openOrdersMax: number) =>
    store.place({
      makers: [{ maker, partition, budget, openOrdersMax }],
      orders: numbers.map((number) => {
        const { orderHash, order } = orderOf(maker, number);
        return {
          orderHash,
          makerIndex: 0,
          salt: order.salt,
          nonce: BigInt(order.nonce),
          expiresAtSeconds: Number(order.expiresAt),
        };
      }),
      receivedAtMs,
      nowMs: receivedAtMs,
      lastsMs: LASTS_MS,
      rememberedMax: 1_000,
      chargeOnly: false,
      firstRepeatAt: undefined,
    });
  const maker = makers[0] as Hex;
  outcomes.push((await place(maker, [ORDERS], NOW_MS, 100)).kind);
  await store.endTrust(sinceMs);
  const hashes = makers.flatMap((each) => [...numbers, ORDERS].map((number) => orderOf(each, number).orderHash));
  outcomes.push(await store.findOrders(hashes, NOW_MS, true), await store.readAmounts(hashes));
  for (const each of makers) {
    for (const asked of [[ORDERS], [ORDERS + 1], [ORDERS + 1], [ORDERS + 2, ORDERS + 3], [0], [3]]) {
      const { kind, ...rest } = await place(each, asked, NOW_MS, 8);
      const told = { index: null, count: null, known: null, ...rest };
      outcomes.push([kind, told.index, told.count, told.known]);
    }
    for (const [numbers, rememberedMax] of [
      [[ORDERS + 20, ORDERS + 21], 1_000],
      [[ORDERS + 20, ORDERS + 21], 1],
      [[ORDERS + 22], 1],
      [[ORDERS + 22], 1_000],
    ] as const) {
      const orderHashes = numbers.map((number) => orderOf(each, number).orderHash);
      const asked = { budget, rememberedMax, maker: each, partition, orderHashes };
      const { kind, ...rest } = await store.markUnplaced({ ...asked, nowMs: NOW_MS, lastsMs: LASTS_MS });
      outcomes.push([kind, 'count' in rest ? rest.count : null]);
    }
    const marks = [
      [ORDERS + 1, true],
      [ORDERS + 1, true],
      [ORDERS + 1, false],
      [ORDERS + 9, true],
    ] as const;
    for (const [number, isFirst] of marks) {
      const { kind } = await store.markCancelling({
        budget,
        makers: [{ maker: each, partition }],
        hashes: [{ orderHash: orderOf(each, number).orderHash, makerIndex: 0 }],
        nowMs: NOW_MS,
        lastsMs: LASTS_MS,
        isFirst,
      });
      outcomes.push(kind);
    }
    const placed = await place(each, [ORDERS + 4], NOW_MS, 8);
    outcomes.push(placed.kind);
    if (placed.kind === 'placed') await store.release([orderOf(each, ORDERS + 4).orderHash], placed.untilMs);
    outcomes.push((await place(each, [ORDERS + 4], NOW_MS + 1, 100)).kind);
  }
  const scope = { untilMs: NOW_MS, making: orderOf(maker, 0).order.making.token, mark: `0x${'ee'.repeat(32)}` as Hex };
  const charge = { budget, maker, partition, nowMs: NOW_MS, lastsMs: LASTS_MS };
  const { kind, orderHashes } = await store.markAll({ ...charge, count: 1, scope });
  outcomes.push(kind, [...orderHashes].sort());
  outcomes.push(await instructInto(store, maker));
  await store.forgetNotes(NOW_MS + 1);
  outcomes.push((await place(maker, [ORDERS], NOW_MS, 100)).kind);
  outcomes.push(await store.findOrders(hashes, NOW_MS, false));
  return outcomes;
}

/** Sends standing instructions of many times: anew, again, older, of the same time, by keys that are named and revoked. */
async function instructInto(store: PlacementStore, maker: Hex) {
  const [first, second] = [`0x${'1c'.repeat(20)}`, `0x${'2c'.repeat(20)}`] as const;
  const keys = (named: readonly Hex[], issuedAtMs: number) => ({ subject: 'keys', issuedAtMs, terms: { keys: named } });
  const beat = (cancelAt: number, issuedAtMs: number, key?: Hex) => {
    return { subject: 'switch', issuedAtMs, terms: { cancelAt }, ...(key && { key }) };
  };
  const cap = (token: string, amount: Hex, issuedAtMs: number) => {
    return { subject: `cap:${token}`, issuedAtMs, terms: { amount, windowSeconds: 60 } };
  };
  const given = [
    ...[beat(9, NOW_MS), beat(9, NOW_MS), beat(8, NOW_MS), beat(7, NOW_MS - 1), beat(6, NOW_MS + 1, first)],
    ...[
      keys([first, second], NOW_MS),
      beat(6, NOW_MS + 1, first),
      beat(5, NOW_MS, second),
      beat(4, NOW_MS + 2, second),
    ],
    ...[keys([second], NOW_MS + 1), beat(3, NOW_MS + 3, first), beat(3, NOW_MS + 3, second), keys([], NOW_MS + 2)],
    ...[beat(2, NOW_MS + 1), keys([first], NOW_MS + 1), keys([first], NOW_MS + 3), keys([second], NOW_MS + 3)],
    ...[cap('0xa', '0x1', NOW_MS), cap('0xb', '0x1', NOW_MS), cap('0xc', '0x1', NOW_MS), cap('0xa', '0x2', NOW_MS + 1)],
    ...[
      cap('0xa', '0x0', NOW_MS + 2),
      cap('0xc', '0x1', NOW_MS + 1),
      cap('0xd', '0x0', NOW_MS),
      cap('0xd', '0x1', NOW_MS),
    ],
  ];
  const outcomes: unknown[] = [];
  for (const [n, instruction] of given.entries()) {
    const mark: Hex = `0x${String(n).padStart(64, 'd')}`;
    const charge = { budget, maker, partition, nowMs: NOW_MS, lastsMs: LASTS_MS, capsMax: 2 };
    for (const count of [1, 0] as const) {
      const { remaining: _, ...outcome } = await store.instruct({ ...charge, count, mark, instruction });
      outcomes.push(outcome.kind === 'taken' ? { ...outcome, untilMs: 0 } : outcome);
    }
  }
  return outcomes;
}

/** All that can be asked of the rows. */
async function readAll(rows: ReadModel) {
  const lists = makers.map(async (maker) => {
    const { version, unsettled, isUnsure, cancelAt } = await rows.readListState(maker);
    const { records } = await rows.readMakerList(maker);
    const changes = await Promise.all([0n, 20n, 60n].map((since) => rows.readListChanges(maker, since)));
    const changed = changes.map((each) => each && { ...each, removed: [...each.removed].sort() });
    return { version, unsettled: unsettled.length, isUnsure, cancelAt, records, changed };
  });
  const [clock] = (await rows.readPartitionClocks()).filter((each) => each.partition === partition);
  const asked = { partition, makers, from: 20n, to: 90n };
  const news = await Promise.all([1, 7, 1_000].map((entriesMax) => rows.readNews({ ...asked, entriesMax })));
  const heard = news.map(({ quarantined, ...rest }) => ({ ...rest, quarantined: [...quarantined].sort() }));
  const position = (await rows.projectedPositions()).get(partition);
  return { position, clock, heard, lists: await Promise.all(lists), ...(await readHistories(rows)) };
}

/** The history of each order, and that of each maker in pages, up to now and up to an offset. */
async function readHistories(rows: ReadModel) {
  const told = (entries: readonly HistoryEntry[]) => entries.map((entry) => ({ ...entry, maker: undefined }));
  const orders: unknown[] = [];
  const pages: unknown[] = [];
  for (const maker of makers) {
    for (const before of [undefined, 60n]) {
      for (const number of numbers) {
        const asked = await rows.readOrderHistory(maker, orderOf(maker, number).orderHash, 1_000, before);
        orders.push({ ...asked, entries: told(asked.entries) });
      }
      for (const happened of [happenings, ['FILLED', 'REMOVED'] as const]) {
        for (let after: HistoryPlace = { offset: 0n }, hasMore = true; hasMore; ) {
          const page = await rows.readMakerHistory({ maker, partition, after, before, happened, entriesMax: 3 });
          ({ next: after, hasMore } = page);
          pages.push({ ...page, entries: told(page.entries) });
        }
      }
      pages.push(...(await readBehindEach(rows, maker, before)));
    }
  }
  return { orders, pages };
}

/** The page behind each place that a cursor can name: behind each entry, and behind one that the rows do not have any more. */
async function readBehindEach(rows: ReadModel, maker: Hex, before: bigint | undefined) {
  const asked = { maker, partition, before, happened: happenings };
  const { entries, next } = await rows.readMakerHistory({ ...asked, after: { offset: 0n }, entriesMax: 1_000 });
  const places = entries.map(placeOfEntry);
  const lost = places.slice(-1).flatMap((place) => [0n, 5n].map((more) => ({ ...place, offset: next.offset + more })));
  return Promise.all(
    [...places, ...lost, { offset: next.offset + 5n }].map(async (after) => {
      const page = await rows.readMakerHistory({ ...asked, after, entriesMax: 2 });
      return { after, next: page.next, places: page.entries.map(placeOfEntry) };
    }),
  );
}

test.each([18, 25, 118])('the rows in memory answer what Postgres answers (seed %i)', async (seed) => {
  for (const table of ['projections', 'makers', 'funding', 'orders', 'order_history', 'hashes']) {
    await postgres.query(`truncate ${table}`);
  }
  for (const table of ['budgets', 'in_flight', 'cancelling']) await postgres.query(`truncate ${table}`);
  await postgres.query('update trust set since_ms = 0, is_trusted = false');
  const inMemory = new StoreInMemory(
    partitions,
    () => NOW_MS,
    () => undefined,
  );
  const [store, storeInMemory] = [openProjectionStore(postgres, 2), inMemory.connect(sendAtOnce)];
  for (const each of [store, storeInMemory]) await projectInto(each, seed);
  expect(await readRows(storeInMemory)).toEqual(await readRows(store));
  const open: unknown[] = [];
  const projected = await readOpenOrders(postgres, (orders) => open.push(...orders));
  expect(open.length).toBeGreaterThan(0);
  expect(inMemory.projected().filter((one) => one.partition === partition)).toEqual(projected);
  expect(new Set(inMemory.openOrders())).toEqual(new Set(open));
  const placements = inMemory.openPlacements(sendAtOnce, 60_000);
  const outcomes = await decideInto(openPlacementStore(postgres));
  expect(await decideInto(placements)).toEqual(outcomes);
  expect(await readAll(inMemory.openReadModel(sendAtOnce))).toEqual(await readAll(openReadModel(postgres)));
});
