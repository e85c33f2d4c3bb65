import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { topicSpecs } from '@makerbook/contracts-events';
import { FatalError, type StoredRecord } from '@makerbook/kafka';
import { testParts } from '@makerbook/local-stack';
import { connectPostgres, migrate, type Postgres, projectedPosition } from '@makerbook/postgres';
import { readSettings } from '@makerbook/settings';
import { silentLogger, startTelemetry } from '@makerbook/telemetry';
import { projectorSettings } from './env.js';
import { type RunningProjector, runProjector } from './run.js';
import { makersOf, orderOf, startSeconds, storedRecord } from './testing/generate-facts.js';
import {
  batchOf,
  deploy,
  fresh,
  testPartition as partition,
  projectAll,
  type TestDeployment,
  testPartitions,
} from './testing/test-projection.js';

const [maker] = makersOf(partition, testPartitions, 1) as [ReturnType<typeof makersOf>[number]];
const telemetry = {
  ...startTelemetry({ service: 'projector', level: 'error', exportSpans: false }),
  logger: silentLogger,
};
const refusal = /is older than the feeds, or another one: partition 1 stands at offset (\d+) .*speaks of offset (\d+)/;

/** Two orders, cancelled again: replayed, a reader of the book would see them come back. */
const stream: readonly StoredRecord[] = [
  submitted(0, 0n),
  submitted(1, 1n),
  cancelled(0, 2n),
  cancelled(1, 3n),
  blockAt(4n),
  blockAt(5n),
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

function blockAt(offset: bigint): StoredRecord {
  const number = Number(offset);
  const block = { number, hash: orderOf(maker, number).orderHash, timestamp: startSeconds + number };
  return storedRecord({ type: 'BlockProcessed', block }, { partition, offset }, block.timestamp * 1000);
}

async function emptyDatabase(): Promise<{ readonly url: string; readonly postgres: Postgres }> {
  const url = await testParts().databaseUrl();
  await migrate({ url, connectTimeoutMs: 60_000 });
  const postgres = connectPostgres({ url, connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 });
  closing.push(postgres.close);
  return { url, postgres };
}

const tables = ['projections', 'makers', 'funding', 'orders', 'order_history'];

/** Keeps the rows as a backup would; the result puts them back. */
async function backUp(postgres: Postgres): Promise<() => Promise<void>> {
  for (const table of tables) await postgres.query(`create table saved_${table} as table ${table}`);
  return async () => {
    const restored = tables.map((table) => `put_${table} as (insert into ${table} table saved_${table})`);
    await postgres.query(`truncate ${tables.join(', ')}`);
    await postgres.query(`with ${restored.join(', ')} select 1 as done`);
  };
}

/** All that was ever published: nothing is compacted so soon. */
function feeds() {
  const { book, makers, resume } = here.topics;
  return Promise.all([book, makers, resume].map((topic) => here.readFeed(topic)));
}

describe('a partition whose feeds are ahead of the database', () => {
  test('is refused where the database is empty: nothing is published or committed', async () => {
    await projectAll(here.projector(), stream);
    const before = await feeds();
    const { postgres } = await emptyDatabase();
    const projector = here.projector({ postgres, databaseName: 'makerbook on somewhere' });
    const failure = await projector.positionOf(partition).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(FatalError);
    expect((failure as Error).message).toMatch(/^the database makerbook on somewhere is older than the feeds/);
    expect((failure as Error).message).toMatch(refusal);
    await expect(projector.handleBatch(batchOf(stream, 0n), fresh)).rejects.toThrow(FatalError);
    expect(projector.owned.size).toBe(0);
    expect(await projectedPosition(postgres, partition)).toBe(0n);
    expect(await feeds()).toEqual(before);
    // The right one goes on.
    await projectAll(here.projector(), [...stream, blockAt(6n)]);
    expect(await projectedPosition(here.postgres, partition)).toBe(7n);
  });

  test.each([
    ['an order that left the book', 3, 4],
    ['an order that came into it', 1, 2],
    ['the mark of a block', 4, 6],
  ])('is refused where a backup lacks no more than %s', async (_what, kept, projected) => {
    await projectAll(here.projector(), stream.slice(0, kept));
    const restore = await backUp(here.postgres);
    await projectAll(here.projector(), stream.slice(0, projected));
    const before = await feeds();
    await restore();
    expect(await projectedPosition(here.postgres, partition)).toBe(BigInt(kept));
    await expect(projectAll(here.projector(), stream)).rejects.toThrow(refusal);
    expect(await feeds()).toEqual(before);
  });

  test('is refused to the owner under whom the database falls back', async () => {
    const projector = here.projector();
    await projectAll(projector, stream.slice(0, 2));
    const restore = await backUp(here.postgres);
    await projector.handleBatch(batchOf(stream.slice(2, 4), 2n), fresh);
    const before = await feeds();
    await restore();
    const next = batchOf(stream.slice(4), 4n);
    await expect(projector.handleBatch(next, fresh)).rejects.toThrow(/another process owns it/);
    await expect(projector.handleBatch(next, fresh)).rejects.toThrow(refusal);
    expect(await feeds()).toEqual(before);
  });

  test('is taken where the backup lacks nothing that the feeds speak of', async () => {
    await projectAll(here.projector(), stream.slice(0, 4));
    const restore = await backUp(here.postgres);
    await projectAll(here.projector(), stream.slice(0, 5));
    await restore();
    await projectAll(here.projector(), stream);
    expect(await projectedPosition(here.postgres, partition)).toBe(6n);
  });
});

describe('the end of a feed', () => {
  test('that was written by a stranger, or is compressed in a way that cannot be read, keeps nobody from starting', async () => {
    const topics = { ...here.topics, makers: `${here.prefix}zstd` };
    const spec = topicSpecs(topics, testPartitions).find(({ name }) => name === topics.makers);
    if (spec === undefined) throw new Error('the topic has no settings');
    const config = { ...spec.config, 'compression.type': 'zstd' };
    await here.log.createTopics([{ ...spec, config, replicationFactor: 1 }]);
    const appender = here.log.createAppender({ timeoutMs: 60_000 });
    const strange = { partition, key: 'strange', value: Buffer.from('?'.repeat(200)) };
    await appender.append([{ ...strange, topic: topics.makers, headers: {} }]);
    await expect(here.log.readLastRecords(topics.makers, partition)).rejects.toThrow(/codec/);
    await projectAll(here.projector({ topics }), stream.slice(0, 3));
    const ids = [{}, { ce_id: 'nobody knows' }, { ce_id: '9:999:of another partition' }];
    await appender.append(ids.map((headers) => ({ ...strange, topic: topics.book, headers })));
    await projectAll(here.projector({ topics }), stream);
    expect(await projectedPosition(here.postgres, partition)).toBe(6n);
  });
});

describe('a projector', () => {
  const running: RunningProjector[] = [];
  afterEach(() => Promise.all(running.splice(0).map((projector) => projector.stop())));

  async function start(environment: Record<string, string> = {}): Promise<RunningProjector> {
    const settings = readSettings(projectorSettings, { ...here.environment, ...environment });
    const projector = await runProjector(settings, telemetry);
    running.push(projector);
    return projector;
  }

  async function append(records: readonly StoredRecord[]): Promise<void> {
    const appender = here.log.createAppender({ timeoutMs: 60_000 });
    await appender.append(records.map((record) => ({ ...record, topic: here.topics.makerEvents })));
    await appender.close();
  }

  const projected = (offset: bigint) =>
    until(async () => (await projectedPosition(here.postgres, partition)) >= offset && (await lagOf(0)) === 0);

  async function lagOf(index: number): Promise<number> {
    const { opsPort } = running[index] as RunningProjector;
    const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
    return Number(/^projector_lag_messages\{partition="1"\} (\d+)/m.exec(text)?.[1] ?? Number.NaN);
  }

  test('on an empty database beside the live one does not start, and the live one is not disturbed', async () => {
    await start();
    await append(stream);
    await projected(6n);
    const before = await feeds();
    const { url, postgres } = await emptyDatabase();
    await expect(start({ DATABASE_URL: url })).rejects.toThrow(refusal);
    expect(await projectedPosition(postgres, partition)).toBe(0n);
    expect(await feeds()).toEqual(before);
    await append([submitted(2, 6n)]);
    await projected(7n);
    const { text } = await metrics(running[0] as RunningProjector);
    expect(text).toMatch(new RegExp(`^projector_partitions_taken_total ${testPartitions}\\b`, 'm'));
    expect(
      (await here.readFeed(here.topics.book)).filter(({ key }) => key === orderOf(maker, 2).orderHash),
    ).toHaveLength(1);
  });

  test('ends where its database falls back while it runs, and says so', async () => {
    const projector = await start();
    await append(stream.slice(0, 2));
    await projected(2n);
    const restore = await backUp(here.postgres);
    await append(stream.slice(2, 4));
    await projected(4n);
    const before = await feeds();
    await restore();
    await append(stream.slice(4));
    const failure = await projector.failed;
    expect(failure).toBeInstanceOf(FatalError);
    expect(failure.message).toMatch(refusal);
    expect(failure.message).toContain(new URL(here.databaseUrl).pathname.slice(1));
    const ready = await fetch(`http://127.0.0.1:${projector.opsPort}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.text()).toMatch(refusal);
    expect(await feeds()).toEqual(before);
    // Started again it says the same.
    await expect(start()).rejects.toThrow(refusal);
  });
});

async function metrics({ opsPort }: RunningProjector): Promise<{ readonly text: string }> {
  return { text: await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text() };
}

async function until(condition: () => Promise<boolean>, withinMs = 90_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error('it did not come about in time');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
