import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readOpenOrders } from '@makerbook/chain-watcher/testing';
import { topicNames } from '@makerbook/contracts-events';
import { happenings } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { type DecidedRequest, type Instruction, orderFromBody, type Placement, type Verdict } from '@makerbook/domain';
import { decideTogether, openStore, type Store } from '@makerbook/ingress';
import { LogInMemory } from '@makerbook/kafka/testing';
import { sendAtOnce, testParts } from '@makerbook/parts';
import { connectPostgres, migrate, type Postgres } from '@makerbook/postgres';
import {
  createTestProjector,
  drawStream,
  makersOf,
  openProjectionStore,
  orderOf,
  type ProjectionStore,
} from '@makerbook/projector/testing';
import { type HistoryEntry, type HistoryPlace, openReadModel, placeOfEntry, type ReadModel } from '@makerbook/query';
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

/** Folds a log into the rows. */
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

/** Reads all that a projector asks of the rows, sorted so that their order does not matter. */
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

const NOW_MS = Date.now();
const budget = { ratePerSecond: 0.0001, burst: 1_000 };
const LASTS_MS = 10_000;
const mark: Hex = `0x${'ee'.repeat(32)}`;

/** Requests of each kind: for known, new, in-flight and cancelling orders, and for all of a maker's orders. */
function requestsOf(maker: Hex): readonly DecidedRequest[] {
  const own = { maker, partition };
  const key = (number: number) => ({ ...own, budget, orderHash: orderOf(maker, number).orderHash });
  const place = (numbers: readonly number[], openOrdersMax: number, rememberedMax = 1_000): Placement => ({
    kind: 'placement',
    receivedAtMs: 0,
    lastsMs: LASTS_MS,
    validUntilMs: undefined,
    makers: [{ ...own, budget, openOrdersMax, nonce: undefined }],
    orders: numbers.map((number) => {
      const order = { ...orderFromBody(orderOf(maker, number).order), expiresAt: 99_999_999_999n };
      return { orderHash: orderOf(maker, number).orderHash, order };
    }),
    rememberedMax,
  });
  const cancel = (...numbers: number[]): DecidedRequest => {
    return {
      kind: 'cancellation',
      lastsMs: LASTS_MS,
      hashes: numbers.map(key),
      unplaced: [],
      rememberedMax: 9,
    };
  };
  const unplaced = (rememberedMax: number, ...numbers: number[]): DecidedRequest => {
    const hashes = numbers.map((number) => ({ ...key(number), ordersBudget: budget }));
    return { kind: 'cancellation', lastsMs: LASTS_MS, hashes: [], unplaced: hashes, rememberedMax };
  };
  const replace = (cancelled: number, placed: number): DecidedRequest => {
    const { orderHash } = key(cancelled);
    return {
      kind: 'replacement',
      placement: place([placed], 8),
      cancels: [key(cancelled)],
      expected: [{ orderHash }],
    };
  };
  const instruct = (instruction: Instruction): DecidedRequest => {
    return { kind: 'instruction', lastsMs: LASTS_MS, budget, ...own, mark, instruction, isRepeat: false };
  };
  const { making } = orderOf(maker, 0).order;
  return [
    ...[[ORDERS + 1], [ORDERS + 1], [ORDERS + 2, ORDERS + 3], [0], [3]].map((asked) => place(asked, 8)),
    ...[unplaced(1_000, ORDERS + 20, ORDERS + 21), unplaced(1, ORDERS + 20), unplaced(1, ORDERS + 22)],
    ...[place([ORDERS + 20], 100), cancel(ORDERS + 1), cancel(ORDERS + 1, ORDERS + 9), place([ORDERS + 4], 8, 2)],
    ...numbers.map((number) => replace(number, ORDERS + 30 + number)),
    ...[replace(ORDERS + 2, ORDERS + 50), replace(ORDERS + 2, ORDERS + 51), replace(ORDERS + 1, ORDERS + 52)],
    { kind: 'cancel-all', lastsMs: LASTS_MS, budget, ...own, scope: { untilMs: NOW_MS, making: making.token }, mark },
    instruct({ subject: 'switch', issuedAtMs: NOW_MS, terms: { cancelAt: 9 } }),
    instruct({ subject: 'switch', issuedAtMs: NOW_MS - 1, terms: { cancelAt: 8 } }),
    instruct({ subject: 'keys', issuedAtMs: NOW_MS, terms: { keys: [maker] } }),
    place([ORDERS + 60], 100),
  ];
}

/** The verdict without times. */
function toldOf({ decisions, refusal, left, ofClient, isKnown }: Verdict) {
  const stored = decisions.map((one) => {
    return one.kind === 'charge' ? [one.kind, one.of, Math.round(one.tokens.left)] : [one.kind, one.orderHash];
  });
  return { refusal, stored, left: left?.remaining, ofClient, isKnown };
}

/** Sends the requests to a store, and records all that can be read from it on the way. */
async function decideInto(store: Store) {
  const outcomes: unknown[] = [];
  const decide = decideTogether(store, () => performance.now());
  const ask = async (request: DecidedRequest) => {
    outcomes.push(toldOf(await decide({ requestId: `r${outcomes.length}`, request, receivedAtMs: performance.now() })));
  };
  const { sinceMs } = await store.beginTrust();
  for (const maker of makers.slice(0, 1)) await ask(requestsOf(maker)[0] as DecidedRequest);
  await store.endTrust(sinceMs);
  const hashes = makers.flatMap((each) => [...numbers, ORDERS].map((number) => orderOf(each, number).orderHash));
  const find = async () => {
    const { trustedSinceMs, rows } = await store.findHashes(hashes);
    outcomes.push(
      trustedSinceMs,
      rows.map(({ notedUntilMs, ...row }) => ({ ...row, isNoted: notedUntilMs !== undefined })),
    );
    for (const hash of hashes) outcomes.push(await store.wereNeverInBook([hash]));
    outcomes.push(await store.wereNeverInBook(hashes));
    const salts = rows.flatMap(({ open, inFlight, unfolded }) => (open ?? inFlight ?? unfolded)?.salt ?? []);
    for (const maker of makers) {
      for (const untilMs of [NOW_MS, Date.now() + 60_000]) {
        const found = await store.findBySalts({ maker, salts, untilMs, lastsMs: LASTS_MS });
        outcomes.push(found === 'untrusted' ? found : found.map((order) => JSON.stringify(order)).sort());
      }
    }
  };
  await find();
  await store.note(
    makers.map((maker) => orderOf(maker, ORDERS).orderHash),
    sinceMs,
    0,
  );
  await find();
  for (const maker of makers) for (const request of requestsOf(maker)) await ask(request);
  await store.release('r9', hashes, hashes);
  await find();
  await store.forgetNotes(-60_000);
  await find();
  return outcomes;
}

/** Reads all that can be asked of the rows. */
async function readAll(rows: ReadModel) {
  const lists = makers.map(async (maker) => {
    const { version, unsettled, isUnsure, cancelAt } = await rows.readListState(maker);
    const { records } = await rows.readMakerList(maker);
    const changes = await Promise.all([0n, 20n, 60n].map((since) => rows.readListChanges(maker, since)));
    const changed = changes.map((each) => each && { ...each, removed: [...each.removed].sort() });
    const account = await readTimeless(rows, maker);
    return { version, unsettled: unsettled.length, isUnsure, cancelAt, records, changed, account };
  });
  const [clock] = (await rows.readPartitionClocks()).filter((each) => each.partition === partition);
  const asked = { partition, makers, from: 20n, to: 90n };
  const news = await Promise.all([1, 7, 1_000].map((entriesMax) => rows.readNews({ ...asked, entriesMax })));
  const heard = news.map(({ quarantined, ...rest }) => ({ ...rest, quarantined: [...quarantined].sort() }));
  return { clock, heard, lists: await Promise.all(lists), ...(await readHistories(rows)) };
}

/** Reads each order's history, and each maker's in pages. Reads them up to now and up to an offset. */
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
      const salted = { maker, partition, after: { offset: 0n }, before, happened: happenings, entriesMax: 9 };
      for (const number of numbers) {
        const page = await rows.readMakerHistory({ ...salted, salt: orderOf(maker, number).order.salt });
        pages.push({ ...page, entries: told(page.entries) });
      }
    }
  }
  return { orders, pages };
}

/** Reads the page behind each cursor: behind each entry, and behind entries that the rows no longer have. */
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

/** Reads a maker, without the clock of Postgres. */
async function readTimeless(rows: ReadModel, maker: Hex) {
  const { budgets, nowMs: _, ...account } = (await rows.readMaker(maker)) ?? { budgets: undefined, nowMs: 0 };
  return { ...account, left: [budgets?.orders.left, budgets?.cancels.left].map((left) => left && Math.round(left)) };
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
  const placements = inMemory.openPlacements(sendAtOnce, 60_000, () => NOW_MS);
  const outcomes = await decideInto(openStore(postgres));
  expect(await decideInto(placements)).toEqual(outcomes);
  expect(await readAll(inMemory.openReadModel(sendAtOnce))).toEqual(await readAll(openReadModel(postgres)));
});
