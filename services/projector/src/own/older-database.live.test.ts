import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { FatalError, RetryableError, type StoredRecord } from '@makerbook/kafka';
import { testParts } from '@makerbook/parts';
import { connectPostgres, migrate, openProjectionStore, type Postgres, readProjection } from '@makerbook/postgres';
import { hashReadModel } from '@makerbook/postgres/testing';
import { readSettings } from '@makerbook/settings';
import { silentLogger, startTelemetry } from '@makerbook/telemetry';
import { projectorSettings } from '../env.js';
import { type RunningProjector, runProjector } from '../run.js';
import { blockAt, makersOf, orderOf, startSeconds, storedRecord } from '../testing/generate-facts.js';
import {
  appendAll,
  batchOf,
  deploy,
  flush,
  fresh,
  testPartition as partition,
  projectAll,
  type TestDeployment,
  testPartitions,
  until,
} from '../testing/test-projection.js';

const [maker] = makersOf(partition, testPartitions, 1) as [ReturnType<typeof makersOf>[number]];
const telemetry = {
  ...startTelemetry('projector', { LOG_LEVEL: 'error' }),
  logger: silentLogger,
};
/** Two orders, cancelled again: replayed, a reader of the book would see them come back. */
const stream: readonly StoredRecord[] = [
  submitted(0, 0n),
  submitted(1, 1n),
  cancelled(0, 2n),
  cancelled(1, 3n),
  block(4n),
  block(5n),
];

let here: TestDeployment;
const closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  here = await deploy();
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await here.stop();
});

function submitted(number: number, offset: bigint): StoredRecord {
  const cause = { kind: 'request' as const, requestId: 'request' };
  const fact = { ...orderOf(maker, number), type: 'OrderSubmitted' as const, maker, acceptedAtMs: 0, cause };
  return storedRecord(fact, { partition, offset }, startSeconds * 1000);
}

function cancelled(number: number, offset: bigint): StoredRecord {
  const { orderHash } = orderOf(maker, number);
  const cause = { kind: 'request' as const, requestId: 'request' };
  const fact = { type: 'OrderCancelled' as const, maker, orderHash, expiresAtSeconds: 4_000_000_000, cause };
  return storedRecord(fact, { partition, offset }, startSeconds * 1000);
}

function block(offset: bigint): StoredRecord {
  const seconds = startSeconds + Number(offset);
  return storedRecord(blockAt(Number(offset), seconds), { partition, offset }, seconds * 1000);
}

async function emptyDatabase(): Promise<{ readonly url: string; readonly postgres: Postgres }> {
  const url = await testParts().databaseUrl();
  await migrate({ url, connectTimeoutMs: 60_000 });
  const postgres = connectPostgres({ url, connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 });
  closing.push(postgres.close);
  return { url, postgres };
}

const tables = ['projections', 'makers', 'funding', 'orders', 'order_history', 'hashes'];

/** Keeps the rows as a backup would; the result puts them back. */
async function backUp(postgres: Postgres): Promise<() => Promise<void>> {
  for (const table of tables) await postgres.query(`create table saved_${table} as table ${table}`);
  return async () => {
    const restored = tables.map((table) => `put_${table} as (insert into ${table} table saved_${table})`);
    await postgres.transaction(async (query) => {
      await query(`truncate ${tables.join(', ')}`);
      await query(`with ${restored.join(', ')} select 1 as done`);
    });
  };
}

/** All that was ever published: nothing is compacted so soon. */
async function feeds() {
  const { book, makers } = here.topics;
  return Promise.all([book, makers].map((topic) => here.readFeed(topic)));
}

async function outcome() {
  return { feeds: await feeds(), hash: await here.hash(), position: await here.position() };
}

/** The outcome if nothing ever fails. */
async function undisturbed(records: readonly StoredRecord[]) {
  const kept = here;
  here = await deploy();
  await projectAll(here, here.projector(), records);
  const expected = await outcome();
  await here.stop();
  here = kept;
  return expected;
}

describe('a partition whose feeds are ahead of the database', () => {
  test('is folded again where the database is empty, and nothing is published twice', async () => {
    await projectAll(here, here.projector(), stream);
    const before = await feeds();
    const { postgres } = await emptyDatabase();
    await projectAll(here, here.projector({ store: openProjectionStore(postgres, 2) }), stream);
    expect(await feeds()).toEqual(before);
    expect(await hashReadModel(postgres)).toEqual(await here.hash());
    expect((await readProjection(postgres, partition)).nextOffset).toBe(6n);
  });

  test.each([1, 3, 4, 5])('is folded again from a backup of %s facts', async (kept) => {
    const expected = await undisturbed(stream);
    await projectAll(here, here.projector(), stream.slice(0, kept));
    const restore = await backUp(here.postgres);
    await projectAll(here, here.projector(), stream.slice(0, 5));
    await restore();
    expect(await here.position()).toBe(BigInt(kept));
    await projectAll(here, here.projector(), stream);
    expect(await outcome()).toEqual(expected);
  });

  test('stops the owner under whom the database was replaced, before it believes a row of it', async () => {
    const restore = await backUp(here.postgres);
    const projector = here.projector({ heldMax: 0 });
    await projectAll(here, projector, stream);
    const before = await feeds();
    await restore();
    // Nothing is held of the maker: what the older database says of it would lead to other messages.
    const next = [...stream, submitted(2, 6n)];
    await appendAll(here, next);
    await expect(projector.handleBatch(batchOf(next.slice(6), 6n), fresh)).rejects.toThrow(RetryableError);
    const again = projector.handleBatch(batchOf(next.slice(6), 6n), fresh);
    await expect(again).rejects.toThrow(FatalError);
    await expect(again).rejects.toThrow(
      /^partition 0: the rows are at 0, and this process has left them at 6: the database was replaced .*Stop the services/,
    );
    expect(await feeds()).toEqual(before);
  });

  test('is folded again where another server has lost the last commits', async () => {
    const expected = await undisturbed([...stream, submitted(2, 6n)]);
    const restore = await backUp(here.postgres);
    let started = 1n;
    const store = openProjectionStore(here.postgres, 2);
    const takeProjection = async (of: number) => ({ ...(await store.takeProjection(of)), serverStartedAt: started });
    const projector = here.projector({ heldMax: 0, store: { ...store, takeProjection } });
    await projectAll(here, projector, stream);
    await restore();
    started = 2n;
    const next = [...stream, submitted(2, 6n)];
    await appendAll(here, next);
    await expect(projector.handleBatch(batchOf(next.slice(6), 6n), fresh)).rejects.toThrow(RetryableError);
    await projector.handleBatch(batchOf(next.slice(6), 6n), fresh);
    await flush(projector);
    expect(await outcome()).toEqual(expected);
  });
});

describe('another log', () => {
  test('that ends before what the feeds name is refused, and so is one that ends before the rows', async () => {
    await projectAll(here, here.projector(), stream);
    const endsAt = (end: bigint) => ({
      ...here.log,
      endOffsets: async () => Array.from({ length: testPartitions }, () => end),
    });
    await expect(here.projector({ log: endsAt(5n) }).positionOf(partition)).rejects.toThrow(
      /ends at offset 5 in partition 0, and the database has folded it up to 6: the database belongs to another log/,
    );
    const { postgres } = await emptyDatabase();
    const refused = here.projector({ log: endsAt(5n), store: openProjectionStore(postgres, 2) }).positionOf(partition);
    await expect(refused).rejects.toThrow(FatalError);
    await expect(refused).rejects.toThrow(/already speak of offset 5: the feeds belong to another log/);
    expect((await readProjection(postgres, partition)).nextOffset).toBe(0n);
  });

  test('has feeds of its own: messages of a stranger on the feeds are none of the log', async () => {
    const appender = here.log.createAppender({ timeoutMs: 60_000 });
    const strange = { topic: here.topics.book, partition, key: 'strange', value: Buffer.from('?') };
    const ids = [{}, { ce_id: 'nobody knows' }, { ce_id: '9:999:1' }];
    await appender.append(ids.map((headers) => ({ ...strange, headers })));
    await projectAll(here, here.projector(), stream);
    expect(await here.position()).toBe(6n);
  });
});

describe('a running projector', () => {
  let running: RunningProjector | undefined;
  afterEach(async () => {
    await running?.stop();
    running = undefined;
  });

  const projected = (offset: bigint) => until(async () => (await here.position().catch(() => -1n)) >= offset);

  const start = () => runProjector(readSettings(projectorSettings, here.environment), telemetry);

  /** Folds six facts. @returns restores the backup of after the third */
  async function runPastBackup(): Promise<() => Promise<void>> {
    running = await start();
    await appendAll(here, stream.slice(0, 3));
    await projected(3n);
    const restore = await backUp(here.postgres);
    await appendAll(here, stream);
    await projected(6n);
    return restore;
  }

  test.each(['an older backup', 'nothing'])(
    'is stopped, its database is restored to %s, and it goes on',
    async (what) => {
      const expected = await undisturbed([...stream, block(6n), block(7n)]);
      const restore = await runPastBackup();
      await running?.stop();
      if (what === 'nothing') await here.postgres.query(`truncate ${tables.join(', ')}`);
      else await restore();
      await appendAll(here, [...stream, block(6n), block(7n)]);
      running = await start();
      await projected(8n);
      expect(await outcome()).toEqual(expected);
      const ready = () => fetch(`http://127.0.0.1:${running?.opsPort}/readyz`);
      await until(async () => (await ready()).status === 200);
    },
  );

  test('ends with the remedy where its database is replaced, and goes on once it is started again', async () => {
    const expected = await undisturbed([...stream, block(6n), block(7n)]);
    const restore = await runPastBackup();
    await restore();
    await appendAll(here, [...stream, block(6n)]);
    await until(async () => (await here.readFeed(here.topics.book)).some(({ id }) => id === `${partition}:6:0`));
    // The next block, which comes within a second, shows that the commit has failed.
    await appendAll(here, [...stream, block(6n), block(7n)]);
    expect((await running?.failed)?.message).toMatch(/the database was replaced while services ran.*Stop the services/);
    await running?.stop();
    running = await start();
    await projected(8n);
    expect(await outcome()).toEqual(expected);
  });
});
