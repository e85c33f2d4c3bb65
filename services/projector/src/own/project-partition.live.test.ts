import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { topicNames } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { recordEnd, recordStart } from '@makerbook/domain';
import { type LogRecord, RetryableError, type StoredRecord } from '@makerbook/kafka';
import { LogInMemory } from '@makerbook/kafka/testing';
import { createChance, openTcpGate, testParts } from '@makerbook/parts';
import {
  connectPostgres,
  migrate,
  openProjectionStore,
  type Postgres,
  readMakerList,
  readProjection,
} from '@makerbook/postgres';
import { hashReadModel } from '@makerbook/postgres/testing';
import { createTestProjector, type Step, type TestProjectorParts } from '../testing/create-test-projector.js';
import {
  drawStream,
  makersOf,
  observedAt,
  startSeconds,
  storedRecord,
  submittedOf,
  withLateBlocks,
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
  for (const table of tables) await postgres.query(`create table saved_${table} as table ${table}`);
});
afterAll(() => postgres.close());

type Cut = Partial<
  Pick<TestProjectorParts, 'commitTransitionsMax' | 'commitFactsMax' | 'heldMax' | 'batchFactsMax' | 'onStep'>
>;

function createOn(log: LogInMemory, cut: Cut = {}, rows = postgres): Projector {
  const view = log.connect();
  const store = openProjectionStore(rows, 2);
  return createTestProjector({ store, log: view, createFencedPublisher: view.createFencedPublisher, topics, ...cut });
}

function logOf(stream: readonly StoredRecord[]): LogInMemory {
  const log = new LogInMemory({ partitions });
  for (const record of stream) log.put(record);
  return log;
}

/** Hands the log over in batches of these lengths, as the consumer loop does, and has all of it committed. */
async function projectAll(
  projector: Projector,
  stream: readonly StoredRecord[],
  lengths: readonly number[] = [stream.length],
  parked: string[] = [],
) {
  const hold = {
    assertOwned: () => undefined,
    park: async ({ offset, headers }: StoredRecord) => {
      parked.push(`${offset} ${headers['parked-maker']}`);
    },
  };
  let position = await projector.positionOf(partition);
  for (let batch = 0; ; batch += 1) {
    const records = stream.filter(({ offset }) => offset >= position).slice(0, lengths[batch % lengths.length]);
    const last = records.at(-1);
    if (last === undefined) break;
    await projector.handleBatch(batchOf(records, position), hold);
    position = last.offset + 1n;
  }
  await flush(projector);
}

function describeFeed(published: readonly LogRecord[]) {
  return published.map(({ topic, key, value, headers }) => ({ topic, key, value: value?.toString(), headers }));
}

const storedPosition = async () => (await readProjection(postgres, partition)).nextOffset;

async function outcomeOf(log: LogInMemory, parked: readonly string[] = []) {
  const hash = await hashReadModel(postgres);
  return {
    feed: describeFeed(log.published),
    hash,
    position: await storedPosition(),
    parked: new Set(parked),
  };
}

const copy = (from: string, to: string) =>
  postgres.transaction(async (query) => {
    for (const table of tables) await query(`truncate ${to}${table}`);
    for (const table of tables) await query(`insert into ${to}${table} table ${from}${table}`);
  });
const empty = () => postgres.query(`truncate ${tables.join(', ')}`);

/** The outcome of one batch and one commit. */
async function undisturbed(stream: readonly StoredRecord[]) {
  await empty();
  const log = logOf(stream);
  const parked: string[] = [];
  await projectAll(createOn(log, {}), stream, [stream.length], parked);
  return outcomeOf(log, parked);
}

const steps: readonly Step[] = ['before publish', 'after publish', 'before commit', 'after commit'];

/** Stops a projector at a step, for good: as a killed process, it does nothing any more. */
function killedAt(step: Step, after: number): Pick<TestProjectorParts, 'onStep'> {
  let left = after;
  return {
    onStep: (reached) => {
      if (reached === step) left -= 1;
      if (left < 0) throw new Error(`killed ${step}`);
    },
  };
}

interface Crash {
  readonly step: Step;
  readonly after: number;
  /** The rows in Postgres when the next owner begins. */
  readonly rows: 'kept' | 'saved' | 'older' | 'lost';
}

/** Some streams end with blocks that make many orders due, and are calm before those. */
function drawRun(seed: number) {
  const chance = createChance(seed);
  const drawn = drawStream(seed, makers, partition, { facts: chance.between(5, 120), orders: 8 });
  const isLong = chance.oneIn(2);
  const cut: Cut = {
    commitTransitionsMax: chance.pick([1, 4, 20, 1_000]),
    commitFactsMax: chance.pick([1, 10, 1_000]),
    heldMax: chance.pick([0, 3, 10, 1_000]),
    batchFactsMax: chance.pick([3, 20]),
  };
  const crashes = Array.from({ length: chance.below(9) }, (): Crash => {
    const rows = chance.pick(['kept', 'kept', 'saved', 'older', 'lost'] as const);
    return { step: chance.pickAny(steps) ?? 'after commit', after: chance.below(9), rows };
  });
  return {
    stream: isLong ? withLateBlocks(drawn, [200, 260, 400]) : drawn,
    calm: isLong ? drawn.length : 0,
    lengths: Array.from({ length: chance.between(1, 4) }, () => chance.between(1, 40)),
    cut,
    crashes,
  };
}

describe('a partition', () => {
  test('leads to the same feed, each message once, and to the same rows, however it is cut, crashed, and given older rows', async () => {
    let crashed = 0;
    for (let seed = 1; seed <= 40; seed += 1) {
      const { stream, calm, lengths, cut, crashes } = drawRun(seed);
      const reference = await undisturbed(stream);
      await empty();
      await copy('', 'saved_');
      const log = logOf(stream);
      const parked: string[] = [];
      await projectAll(createOn(log, cut), stream.slice(0, calm), lengths, parked);
      for (const { step, after, rows } of crashes) {
        const projector = createOn(log, { ...cut, ...killedAt(step, after) });
        await projectAll(projector, stream, lengths, parked).catch((error: Error) => {
          crashed += 1;
          expect(error.message).toMatch(/^killed/);
        });
        if (rows === 'saved') await copy('', 'saved_');
        if (rows === 'older') await copy('saved_', '');
        if (rows === 'lost') await empty();
      }
      await projectAll(createOn(log, cut), stream, lengths, parked);
      expect([seed, await outcomeOf(log, parked)]).toEqual([seed, reference]);
    }
    expect(crashed).toBeGreaterThan(20);
  });
});

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

  test('that another one succeeded can neither publish nor commit any more, and nothing is lost or doubled', async () => {
    const [earlier, later] = [createOn(log), createOn(log)];
    await earlier.positionOf(partition);
    await later.positionOf(partition);
    await expect(earlier.handleBatch(batchOf(stream, 0n), fresh)).rejects.toThrow(RetryableError);
    expect([log.published, await storedPosition()]).toEqual([[], 0n]);
    await later.handleBatch(batchOf(stream, 0n), fresh);
    await flush(later);
    expect(await outcomeOf(log)).toEqual(reference);
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

  test('that leaves in good order commits what it has published', async () => {
    const projector = createOn(log);
    await projector.positionOf(partition);
    await projector.handleBatch(batchOf(stream, 0n), fresh);
    await projector.onRevoked(partition);
    expect(await outcomeOf(log)).toEqual(reference);
    expect(projector.owned.size).toBe(0);
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
    const projector = createOn(log, { commitTransitionsMax: 50 }, rows);
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
