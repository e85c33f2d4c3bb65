import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { recordEnd, recordStart } from '@makerbook/domain';
import { RetryableError, type StoredRecord } from '@makerbook/kafka';
import { openTcpGate } from '@makerbook/parts';
import { connectPostgres, openProjectionStore, readMakerList } from '@makerbook/postgres';
import {
  drawStream,
  makersOf,
  observedAt,
  startSeconds,
  storedRecord,
  submittedOf,
} from '../testing/generate-facts.js';
import {
  appendAll,
  batchOf,
  deploy,
  type FeedMessage,
  flush,
  fresh,
  killedAt,
  testPartition as partition,
  projectAll,
  steps,
  type TestDeployment,
  testPartitions,
  until,
  withoutGaps,
} from '../testing/test-projection.js';

const makers = makersOf(partition, testPartitions, 3);
const maker = makers[0] as Hex;

/** One stream with a bit of everything in it; the same one every time. */
const drawn = drawStream(7, makers, partition, { facts: 255, orders: 12 });
const stream = withoutGaps(drawn);
const half = stream.length >> 1;

function submitted(number: number, offset: bigint): StoredRecord {
  return storedRecord(submittedOf(maker, number), { partition, offset }, startSeconds * 1000);
}

let here: TestDeployment;
let reference: Awaited<ReturnType<typeof outcomeOf>>;

async function outcomeOf({ hash, readFeed, topics }: TestDeployment): Promise<{
  readonly hash: Awaited<ReturnType<TestDeployment['hash']>>;
  readonly book: FeedMessage[];
  readonly makers: FeedMessage[];
}> {
  return { hash: await hash(), book: await readFeed(topics.book), makers: await readFeed(topics.makers) };
}

beforeEach(async () => {
  here = await deploy();
  if (reference === undefined) {
    const undisturbed = await deploy();
    await projectAll(undisturbed, undisturbed.projector(), stream);
    reference = await outcomeOf(undisturbed);
    await undisturbed.stop();
    expect(reference.book.length).toBeGreaterThan(20);
    expect(reference.makers.length).toBeGreaterThan(2);
  }
});
afterEach(() => here.stop());

describe('a projector that is killed', () => {
  test.each(steps)('%s: the next one folds again, and the feeds hold each message once', async (step) => {
    await projectAll(here, here.projector(), stream.slice(0, half));
    await expect(projectAll(here, here.projector(killedAt(step)), stream)).rejects.toThrow('killed');
    await projectAll(here, here.projector(), stream);
    expect(await outcomeOf(here)).toEqual(reference);
  });
});

describe('two owners of one partition', () => {
  test('the earlier one can neither publish nor commit any more, and nothing is lost or doubled', async () => {
    await appendAll(here, stream);
    const [earlier, later] = [here.projector(), here.projector()];
    await earlier.positionOf(partition);
    await later.positionOf(partition);
    const batch = batchOf(stream, 0n);
    await expect(earlier.handleBatch(batch, fresh)).rejects.toThrow(RetryableError);
    expect(await here.readFeed(here.topics.book)).toEqual([]);
    expect(await here.position()).toBe(0n);
    await later.handleBatch(batch, fresh);
    await flush(later);
    expect(await outcomeOf(here)).toEqual(reference);
  });

  test('an owner that has learned that the partition is no longer its own does not touch it', async () => {
    const projector = here.projector();
    await appendAll(here, stream);
    await projector.positionOf(partition);
    const stale = {
      ...fresh,
      assertOwned: () => {
        throw new RetryableError('given to another process');
      },
    };
    await expect(projector.handleBatch(batchOf(stream, 0n), stale)).rejects.toThrow(RetryableError);
    expect(await here.position()).toBe(0n);
    expect(await here.readFeed(here.topics.book)).toEqual([]);
  });

  test('one that leaves in good order commits what it has published', async () => {
    await appendAll(here, stream);
    const projector = here.projector();
    await projector.positionOf(partition);
    await projector.handleBatch(batchOf(stream, 0n), fresh);
    await projector.onRevoked(partition);
    expect(await outcomeOf(here)).toEqual(reference);
    expect(projector.owned.size).toBe(0);
  });
});

describe('a projection', () => {
  test('moves its position over control records', async () => {
    const projector = here.projector();
    await projectAll(here, projector, stream);
    const position = BigInt(stream.length);
    await projector.handleBatch({ partition, records: [], fromOffset: position, nextOffset: position + 3n }, fresh);
    await flush(projector);
    expect(await here.position()).toBe(position + 3n);
  });

  test('lists each record exactly as the fold describes it, whatever its status', async () => {
    const block = { number: 1, timestamp: startSeconds };
    const projector = here.projector();
    const observed = observedAt(maker, [0, 2], block, { balance: '0xa', allowance: '0xa' });
    const facts = [
      submitted(0, 0n),
      submitted(1, 1n),
      submitted(2, 2n),
      storedRecord(observed, { partition, offset: 3n }),
    ];
    await projectAll(here, projector, facts);
    const orders = projector.owned.get(partition)?.taken.state.makers.get(maker)?.draft.orders.values() ?? [];
    const described = [...orders].map(
      (order) =>
        recordStart(order) +
        recordEnd(order.state, order.remaining < order.order.making.amount ? order.remaining : undefined),
    );
    const { records } = await readMakerList(here.postgres, maker);
    expect(records.map(({ json }) => json)).toEqual(described);
    expect(records.map(({ json }) => JSON.parse(json).status)).toEqual(['ACTIVE', 'VALIDATING', 'INACTIVE']);
  });

  test('reads what it lacks from the log where a batch begins beyond its rows', async () => {
    await appendAll(here, stream);
    const projector = here.projector();
    await projector.handleBatch(batchOf(stream.slice(half), BigInt(half)), fresh);
    await flush(projector);
    expect(await outcomeOf(here)).toEqual(reference);
  });
});

describe('while a dependency is away', () => {
  test('Postgres: what is in memory is folded and published, the commit is tried again, and says so', async () => {
    const gate = await openTcpGate(here.databaseUrl);
    const postgres = connectPostgres({ url: gate.url, connectTimeoutMs: 60_000 });
    const projector = here.projector({ store: openProjectionStore(postgres, 2) });
    await projectAll(here, projector, stream.slice(0, half));
    const before = await here.readFeed(here.topics.book);
    await gate.shut();
    // A block needs nothing of Postgres: it is published, and its rows wait.
    await appendAll(here, stream);
    const position = BigInt(half);
    await projector.handleBatch({ partition, records: [], fromOffset: position, nextOffset: position + 1n }, fresh);
    const committer = projector.owned.get(partition)?.taken.committer;
    await until(async () => committer?.waitsFor !== undefined);
    const rest = batchOf(stream.slice(half), position);
    await expect(projector.handleBatch(rest, fresh)).rejects.toThrow(RetryableError);
    await expect(projector.handleBatch(rest, fresh)).rejects.toThrow(RetryableError);
    expect(await here.readFeed(here.topics.book)).toEqual(before);
    await gate.open();
    await projectAll(here, projector, stream);
    expect(await outcomeOf(here)).toEqual(reference);
    await postgres.close();
    await gate.close();
  });
});
