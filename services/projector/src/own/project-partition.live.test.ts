import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { topicNames } from '@makerbook/contracts-events';
import type { LogRecord, StoredRecord } from '@makerbook/kafka';
import { testParts } from '@makerbook/parts';
import { connectPostgres, hashReadModel, migrate, type Postgres, projectedPosition } from '@makerbook/postgres';
import fc from 'fast-check';
import type { Step } from '../commit/commit-rows.js';
import { createSemaphore } from '../commit/semaphore.js';
import { readFact } from '../fold/read-facts.js';
import { factStreams, makersOf, withLateBlocks } from '../testing/generate-facts.js';
import { type LogInMemory, logInMemory } from '../testing/log-in-memory.js';
import { createProjector, type Projector, type ProjectorParts } from './project-log.js';

/** The flow of one partition on a real Postgres, with a log in memory: hundreds of runs, each with crashes of its own. */

const partition = 1;
const partitions = 4;
const topics = topicNames();
const makers = makersOf(partition, partitions, 4);
const steps: readonly Step[] = ['before publish', 'after publish', 'before commit', 'after commit'];
const tables = ['projections', 'makers', 'funding', 'orders', 'order_history', 'cancelled_hashes'];

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
  Pick<ProjectorParts, 'commitTransitionsMax' | 'commitFactsMax' | 'heldMax' | 'batchFactsMax' | 'onStep'>
>;

function createOn(log: LogInMemory, cut: Cut): Projector {
  return createProjector({
    postgres,
    log,
    createFencedPublisher: log.createFencedPublisher,
    topics,
    transactionalIdPrefix: '',
    partitions,
    routingGraceSeconds: 60,
    heldMax: 1_000,
    batchFactsMax: 1_000,
    commitTransitionsMax: 1_000_000,
    commitFactsMax: 1_000_000,
    quarantinedMakersMax: 10,
    commits: createSemaphore(2),
    reads: createSemaphore(2),
    refreshCache: async () => undefined,
    committed: () => undefined,
    published: () => undefined,
    fed: () => undefined,
    taken: () => undefined,
    nowMs: () => 0,
    ...cut,
  });
}

/** Hands the log over in batches of these lengths, as the consumer loop does, and has all of it committed. */
async function projectAll(
  projector: Projector,
  stream: readonly StoredRecord[],
  lengths: readonly number[],
  parked: string[],
) {
  const hold = {
    heartbeat: () => undefined,
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
  await projector.flush(partition);
}

function describeFeed(published: readonly LogRecord[]) {
  return published.map(({ topic, key, value, headers }) => ({ topic, key, value: value?.toString(), headers }));
}

async function outcomeOf(log: LogInMemory, parked: readonly string[]) {
  const hash = await hashReadModel(postgres);
  return {
    feed: describeFeed(log.published),
    hash,
    position: await projectedPosition(postgres, partition),
    parked: new Set(parked),
  };
}

const copy = (from: string, to: string) =>
  postgres.transaction(async (query) => {
    for (const table of tables) await query(`truncate ${to}${table}`);
    for (const table of tables) await query(`insert into ${to}${table} table ${from}${table}`);
  });
const empty = () => postgres.query(`truncate ${tables.join(', ')}`);

/** What one batch and one commit leave behind. */
async function undisturbed(stream: readonly StoredRecord[]) {
  await empty();
  const log = logInMemory(stream, { topic: topics.makerEvents, partition, partitions });
  const parked: string[] = [];
  await projectAll(createOn(log, {}), stream, [stream.length], parked);
  return outcomeOf(log, parked);
}

/** Some end with blocks that make many orders due, and are calm before those. */
const streams = fc
  .tuple(factStreams(makers, partition, { min: 5, max: 120, orders: 8 }), fc.boolean())
  .map(([stream, isLong]) => ({
    stream: isLong ? withLateBlocks(stream, [200, 260, 400]) : stream,
    calm: isLong ? stream.length : 0,
  }));

const cuts = fc.record({
  lengths: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 }),
  commitTransitionsMax: fc.constantFrom(1, 4, 20, 1_000),
  commitFactsMax: fc.constantFrom(1, 10, 1_000),
  heldMax: fc.constantFrom(0, 3, 10, 1_000),
  batchFactsMax: fc.constantFrom(3, 20),
});

const crashes = fc.array(
  fc.record({
    step: fc.constantFrom(...steps),
    after: fc.integer({ min: 0, max: 8 }),
    /** What Postgres holds when the next owner begins. */
    rows: fc.constantFrom('kept' as const, 'kept' as const, 'saved' as const, 'older' as const, 'lost' as const),
  }),
  { maxLength: 8 },
);

describe('a partition', () => {
  test('leads to the same feed, each message once, and to the same rows, however it is cut, crashed, and given older rows', async () => {
    let crashed = 0;
    await fc.assert(
      fc.asyncProperty(streams, cuts, crashes, async ({ stream, calm }, { lengths, ...cut }, plan) => {
        const reference = await undisturbed(stream);
        await empty();
        await copy('', 'saved_');
        const log = logInMemory(stream, { topic: topics.makerEvents, partition, partitions });
        const parked: string[] = [];
        await projectAll(createOn(log, cut), stream.slice(0, calm), lengths, parked);
        for (const { step, after, rows } of plan) {
          let left = after;
          const onStep = (reached: Step) => {
            if (reached === step) left -= 1;
            if (left < 0) throw new Error(`killed ${step}`);
          };
          const projector = createOn(log, { ...cut, onStep });
          await projectAll(projector, stream, lengths, parked).catch((error: Error) => {
            crashed += 1;
            expect(error.message).toMatch(/^killed/);
          });
          if (rows === 'saved') await copy('', 'saved_');
          if (rows === 'older') await copy('saved_', '');
          if (rows === 'lost') await empty();
        }
        await projectAll(createOn(log, cut), stream, lengths, parked);
        expect(await outcomeOf(log, parked)).toEqual(reference);
      }),
      { numRuns: 100 },
    );
    expect(crashed).toBeGreaterThan(40);
  });
});
