import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { topicNames } from '@makerbook/contracts-events';
import type { LogRecord, StoredRecord } from '@makerbook/kafka';
import { LogInMemory } from '@makerbook/kafka/testing';
import { createChance, testParts } from '@makerbook/parts';
import { connectPostgres, migrate, openProjectionStore, type Postgres, readProjection } from '@makerbook/postgres';
import { hashReadModel } from '@makerbook/postgres/testing';
import { readFact } from '../fold/read-facts.js';
import { createTestProjector, type Step, type TestProjectorParts } from '../testing/create-test-projector.js';
import { drawStream, makersOf, withLateBlocks } from '../testing/generate-facts.js';
import {
  flush,
  killedAt,
  testPartition as partition,
  testPartitions as partitions,
  steps,
} from '../testing/test-projection.js';
import type { Projector } from './project-log.js';

/**
 * The flow of one partition on a real Postgres, with a log in memory: what the simulation holds on rows in memory, the
 * statements hold too.
 */

const topics = topicNames();
const makers = makersOf(partition, partitions, 4);
const tables = ['projections', 'makers', 'funding', 'orders', 'order_history', 'hashes'];

let postgres: Postgres;
beforeAll(async () => {
  const url = await testParts().databaseUrl();
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

function createOn(log: LogInMemory, cut: Cut): Projector {
  const view = log.connect();
  const store = openProjectionStore(postgres, 2);
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
  lengths: readonly number[],
  parked: string[],
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
    const next = { partition, fromOffset: position, nextOffset: last.offset + 1n };
    await projector.handleBatch({ ...next, records: records.map((record) => readFact(record, partitions)) }, hold);
    position = next.nextOffset;
  }
  await flush(projector);
}

function describeFeed(published: readonly LogRecord[]) {
  return published.map(({ topic, key, value, headers }) => ({ topic, key, value: value?.toString(), headers }));
}

async function outcomeOf(log: LogInMemory, parked: readonly string[]) {
  const hash = await hashReadModel(postgres);
  return {
    feed: describeFeed(log.published),
    hash,
    position: (await readProjection(postgres, partition)).nextOffset,
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
