import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { topicNames } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { LogInMemory } from '@makerbook/kafka/testing';
import { sendAtOnce, testParts } from '@makerbook/parts';
import {
  connectPostgres,
  migrate,
  openProjectionStore,
  openReadModel,
  type Postgres,
  type ProjectionStore,
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
  const hold = { heartbeat: () => undefined, park: async () => undefined };
  await projector.handleBatch({ partition, records, fromOffset, nextOffset }, hold);
  await projector.onRevoked([partition]);
}

/** All that can be asked of the rows. */
async function readAll(rows: ReadModel) {
  const numbers = Array.from({ length: ORDERS }, (_, number) => number);
  const orders = makers.flatMap((maker) => numbers.map((number) => ({ maker, ...orderOf(maker, number) })));
  const keys = orders.map(({ maker, orderHash, order }) => ({
    maker,
    orderHash,
    expiresAtSeconds: Number(order.expiresAt),
  }));
  const sorted = <T extends { readonly orderHash: Hex }>(all: readonly T[]) =>
    all.toSorted((a, b) => (a.orderHash < b.orderHash ? -1 : 1));
  const { orders: found, positions } = await rows.findOrders(orders.map(({ orderHash }) => orderHash));
  const ended = await rows.findEnded(keys);
  return {
    positions: [positions.get(partition), (await rows.projectedPositions()).get(partition)],
    hasQuarantined: await rows.hasQuarantined(),
    found: [...found].sort(),
    ended: [...ended].sort(),
    lists: await Promise.all(makers.map((maker) => rows.readMakerList(maker, partition))),
    reservations: await Promise.all(
      [0, 1_700_000_100].flatMap((nowSeconds) =>
        makers.map(async (maker) => {
          const loaded = await rows.loadReservations(maker, partition, nowSeconds);
          return { ...loaded, accepted: sorted(loaded.accepted) };
        }),
      ),
    ),
  };
}

test.each([1, 2, 3])('the rows in memory answer what Postgres answers (seed %i)', async (seed) => {
  for (const table of ['projections', 'makers', 'funding', 'orders', 'order_history', 'hashes']) {
    await postgres.query(`truncate ${table}`);
  }
  const inMemory = new StoreInMemory(partitions, () => undefined);
  await projectInto(openProjectionStore(postgres), seed);
  await projectInto(inMemory.connect(sendAtOnce), seed);
  const must = await readAll(openReadModel(postgres));
  expect(must.reservations.some(({ accepted }) => accepted.length > 3)).toBe(true);
  expect(await readAll(inMemory.openReadModel(sendAtOnce))).toEqual(must);
  const open: unknown[] = [];
  const projected = await readOpenOrders(postgres, (orders) =>
    open.push(...orders.map(({ makingToken: token, ...order }) => ({ ...order, token }))),
  );
  expect(inMemory.projected().filter((one) => one.partition === partition)).toEqual(projected);
  expect(new Set(inMemory.openOrders())).toEqual(new Set(open));
});
