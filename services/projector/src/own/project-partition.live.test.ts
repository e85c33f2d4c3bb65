import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { topicNames } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { recordEnd, recordStart } from '@makerbook/domain';
import { type LogRecord, RetryableError, type StoredRecord } from '@makerbook/kafka';
import { LogInMemory } from '@makerbook/kafka/testing';
import { openTcpGate, testParts } from '@makerbook/parts';
import {
  connectPostgres,
  migrate,
  openProjectionStore,
  type Postgres,
  readMakerList,
  readProjection,
} from '@makerbook/postgres';
import { hashReadModel } from '@makerbook/postgres/testing';
import { createTestProjector } from '../testing/create-test-projector.js';
import {
  drawStream,
  makersOf,
  observedAt,
  startSeconds,
  storedRecord,
  submittedOf,
} from '../testing/generate-facts.js';
import {
  batchOf,
  flush,
  fresh,
  testPartition as partition,
  testPartitions as partitions,
  until,
  withoutGaps,
} from '../testing/test-projection.js';
import type { Projector } from './project-log.js';

/**
 * The flow of one partition on a real Postgres, with a log in memory: what the simulation holds on rows in memory, the
 * statements hold too.
 */

const topics = topicNames();
const makers = makersOf(partition, partitions, 4);
const tables = ['projections', 'makers', 'funding', 'orders', 'order_history', 'hashes'];

let url: string;
let postgres: Postgres;
beforeAll(async () => {
  url = await testParts().databaseUrl();
  await migrate({ url });
  postgres = connectPostgres({
    url,
    poolMax: 4,
    connectTimeoutMs: 60_000,
    statementTimeoutMs: 60_000,
    synchronousCommit: 'off',
  });
});
afterAll(() => postgres.close());

function createOn(log: LogInMemory, rows = postgres): Projector {
  const { createFencedPublisher, ...view } = log.connect();
  const store = openProjectionStore(rows, 2);
  return createTestProjector({ store, log: view, createFencedPublisher, topics, commitTransitionsMax: 50 });
}

function logOf(stream: readonly StoredRecord[]): LogInMemory {
  const log = new LogInMemory({ partitions });
  for (const record of stream) log.put(record);
  return log;
}

/** Hands the log over as one batch, as the consumer loop does, and has all of it committed. */
async function projectAll(projector: Projector, stream: readonly StoredRecord[]) {
  const hold = { assertOwned: () => undefined, park: async () => undefined };
  const position = await projector.positionOf(partition);
  const records = stream.filter(({ offset }) => offset >= position);
  await projector.handleBatch(batchOf(records, position), hold);
  await flush(projector);
}

function describeFeed(published: readonly LogRecord[]) {
  return published.map(({ topic, key, value, headers }) => ({ topic, key, value: value?.toString(), headers }));
}

const storedPosition = async () => (await readProjection(postgres, partition)).nextOffset;

async function outcomeOf(log: LogInMemory) {
  return { feed: describeFeed(log.published), hash: await hashReadModel(postgres), position: await storedPosition() };
}

const empty = () => postgres.query(`truncate ${tables.join(', ')}`);

/** The outcome of one batch. */
async function undisturbed(stream: readonly StoredRecord[]) {
  await empty();
  const log = logOf(stream);
  await projectAll(createOn(log), stream);
  return outcomeOf(log);
}

describe('a projector', () => {
  /** A bit of everything. */
  const stream = withoutGaps(drawStream(7, makers, partition, { facts: 255, orders: 12 }));
  const half = stream.length >> 1;
  let reference: Awaited<ReturnType<typeof undisturbed>>;
  let log: LogInMemory;
  beforeAll(async () => {
    reference = await undisturbed(stream);
    expect(reference.feed.length).toBeGreaterThan(20);
  });
  beforeEach(async () => {
    await empty();
    log = logOf(stream);
  });

  test('that has learned that the partition is no longer its own does not touch it', async () => {
    const projector = createOn(log);
    await projector.positionOf(partition);
    const assertOwned = () => {
      throw new RetryableError('given to another process');
    };
    await expect(projector.handleBatch(batchOf(stream, 0n), { ...fresh, assertOwned })).rejects.toThrow(RetryableError);
    expect([log.published, await storedPosition()]).toEqual([[], 0n]);
  });

  test('moves its position over control records', async () => {
    const projector = createOn(log);
    await projectAll(projector, stream);
    const end = BigInt(stream.length);
    await projector.handleBatch({ partition, records: [], fromOffset: end, nextOffset: end + 3n }, fresh);
    await flush(projector);
    expect(await storedPosition()).toBe(end + 3n);
  });

  test('lists each record exactly as the fold describes it, whatever its status', async () => {
    const maker = makers[0] as Hex;
    const block = { number: 1, timestamp: startSeconds };
    const observed = observedAt(maker, [0, 2], block, { balance: '0xa', allowance: '0xa' });
    const facts = [0, 1, 2].map((number) => submittedOf(maker, number));
    const records = [...facts, observed].map((fact, offset) =>
      storedRecord(fact, { partition, offset: BigInt(offset) }, startSeconds * 1000),
    );
    const projector = createOn(logOf(records));
    await projectAll(projector, records);
    const orders = projector.owned.get(partition)?.taken.state.makers.get(maker)?.draft.orders.values() ?? [];
    const described = [...orders].map(
      (order) =>
        recordStart(order) +
        recordEnd(order.state, order.remaining < order.order.making.amount ? order.remaining : undefined),
    );
    const listed = (await readMakerList(postgres, maker)).records.map(({ json }) => json);
    expect(listed).toEqual(described);
    expect(listed.map((json) => JSON.parse(json).status)).toEqual(['ACTIVE', 'VALIDATING', 'INACTIVE']);
  });

  test('reads what it lacks from the log where a batch begins beyond its rows', async () => {
    const projector = createOn(log);
    await projector.handleBatch(batchOf(stream.slice(half), BigInt(half)), fresh);
    await flush(projector);
    expect(await outcomeOf(log)).toEqual(reference);
  });

  test('folds and publishes what is in memory while Postgres is away, tries the commit again, and says so', async () => {
    const gate = await openTcpGate(url);
    const rows = connectPostgres({ url: gate.url, connectTimeoutMs: 60_000 });
    const projector = createOn(log, rows);
    await projectAll(projector, stream.slice(0, half));
    const before = log.published.length;
    await gate.shut();
    // A block needs nothing of Postgres: it is published, and its rows wait.
    const position = BigInt(half);
    await projector.handleBatch({ partition, records: [], fromOffset: position, nextOffset: position + 1n }, fresh);
    const committer = projector.owned.get(partition)?.taken.committer;
    await until(async () => committer?.waitsFor !== undefined);
    const rest = batchOf(stream.slice(half), position);
    for (let n = 0; n < 2; n += 1) await expect(projector.handleBatch(rest, fresh)).rejects.toThrow(RetryableError);
    expect(log.published).toHaveLength(before);
    await gate.open();
    await projectAll(projector, stream);
    expect(await outcomeOf(log)).toEqual(reference);
    await rows.close();
    await gate.close();
  });
});
