import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { MakerEvent } from '@makerbook/contracts-events';
import { HASH_MEMORY_SECONDS } from '@makerbook/domain';
import { readRecords } from '@makerbook/kafka/testing';
import { until } from '@makerbook/parts';
import { connectPostgres, type Postgres, PostgresUnavailable } from '@makerbook/postgres';
import { readSettings } from '@makerbook/settings';
import { silentLogger, startTelemetry } from '@makerbook/telemetry';
import { type PruneParts, pruneOnce, startPruning } from '../commit/prune-rows.js';
import { projectorSettings, rebuildSettings } from '../env.js';
import { type RunningProjector, runProjector } from '../run.js';
import { drawStream, makersOf, startSeconds, storedRecord } from '../testing/generate-facts.js';
import {
  appendAll,
  asRole,
  deploy,
  testPartition as partition,
  projectAll,
  type TestDeployment,
  testPartitions,
  withoutGaps,
} from '../testing/test-projection.js';
import { foldLog } from './fold-log.js';
import { rebuildReadModel, verifyReadModel, withReplay } from './rebuild-read-model.js';

const makers = makersOf(partition, testPartitions, 3);
const stream = withoutGaps(drawStream(2, makers, partition, { facts: 250, orders: 12 }));
const telemetry = { ...startTelemetry('projector', { LOG_LEVEL: 'error' }), logger: silentLogger };
afterAll(telemetry.stop);

let here: TestDeployment;
let running: RunningProjector | undefined;
const lines: string[] = [];

beforeEach(async () => {
  here = await deploy();
  lines.length = 0;
});
afterEach(async () => {
  await running?.stop();
  running = undefined;
  await here.stop();
});

const options = () => ({
  database: { url: here.databaseUrl },
  log: here.log,
  settings: readSettings(rebuildSettings, here.environment),
  report: (line: string) => void lines.push(line),
});

async function leftovers(): Promise<number> {
  const rows = await here.postgres.query(`select 1 from pg_namespace where nspname like 'makerbook_rebuild%'`);
  return rows.length;
}

test('while one replay works on a database, another one is refused and does no harm', async () => {
  await projectAll(here, here.projector(), stream);
  await withReplay(options(), async ({ postgres }) => {
    await expect(verifyReadModel(options())).rejects.toThrow('another verify, rebuild or salvage works on this');
    expect(await postgres.query('select 1 from migrations limit 1')).toHaveLength(1);
  });
  expect(await verifyReadModel(options())).toEqual([]);
});

describe('verify', () => {
  test('finds nothing if rows and book equal a replay, leaves nothing behind, and names any difference', async () => {
    await projectAll(here, here.projector(), stream);
    expect(await verifyReadModel(options())).toEqual([]);
    expect(lines.at(-1)).toMatch(new RegExp(`^${stream.length} of ${stream.length} messages, .* 0 s left$`));
    expect(await leftovers()).toBe(0);

    const [wrong] = (await readRecords(here.log, here.topics.book)).filter(
      ({ key, value }) => value !== null && !key.startsWith('clock:'),
    );
    if (wrong === undefined) throw new Error('the book is empty');
    const appender = here.log.createAppender({ timeoutMs: 60_000 });
    await appender.append([{ ...wrong, key: `0x${'7'.repeat(64)}` }]);
    await appender.close();
    const inBook = /book.v1, partition 0, 0x7{64}: the feed has \w+ .*, a replay nothing$/;
    expect(await verifyReadModel(options())).toEqual([expect.stringMatching(inBook)]);

    for (const sql of [
      'update orders set remaining = remaining - 1',
      'delete from order_history where log_offset = (select max(log_offset) from order_history)',
      'update makers set nonce = nonce + 1',
      'update projections set book_entries = book_entries + 1',
    ]) {
      await here.postgres.query(sql);
    }
    const differences = await verifyReadModel(options());
    for (const difference of [
      /^orders: the read model has \(.*, a replay \(/,
      /^order_history: /,
      /^makers: /,
      /^projections: the read model has 0 \d/,
      inBook,
    ]) {
      expect(differences).toContainEqual(expect.stringMatching(difference));
    }
  });
});

test.each([
  ['', {}],
  [', and is a part of a block', { COMMIT_TRANSITIONS_MAX: '1' }],
])(
  'a fold whose last commit fails%s says so, because incomplete tables must not replace the live ones',
  async (_, more) => {
    await appendAll(here, stream);
    const ends = await here.log.endOffsets(here.topics.makerEvents);
    const { log, topics } = here;
    const postgres = {
      ...here.postgres,
      query: async (sql: string, values: readonly unknown[] = [], name?: string) => {
        // One array has the positions of the commit, in the binary form of Postgres.
        const isOfEnd = (array: unknown) =>
          Buffer.isBuffer(array) && array.length === 32 && array.readBigInt64BE(24) === ends[partition];
        if (name?.startsWith('save') && values.some(isOfEnd)) throw new PostgresUnavailable('cut');
        return here.postgres.query(sql, values, name);
      },
    } as Postgres;
    const parts = { log, postgres, topics, settings: readSettings(rebuildSettings, { ...here.environment, ...more }) };
    await expect(foldLog(ends, parts, { hasNoFeeds: true })).rejects.toThrow('were not committed');
    await foldLog(ends, { ...parts, postgres: here.postgres }, { hasNoFeeds: true });
  },
);

describe('pruned rows', () => {
  const pruning = (offsetsAt: PruneParts['log']['offsetsAt']): PruneParts => ({
    ...here,
    log: { offsetsAt },
    makerEventsTopic: here.topics.makerEvents,
    owned: () => [partition],
    historyDays: 1,
    intervalMs: 10,
    unixMs: Date.now,
    pruned: () => undefined,
    logger: silentLogger,
  });
  const prune = (before: bigint) =>
    pruneOnce(
      pruning(async () => [before]),
      new AbortController().signal,
    );
  const countOf = async (table: string) => (await here.postgres.query(`select 1 from ${table}`)).length;
  const later: MakerEvent = {
    type: 'BlockProcessed',
    block: { number: 1_000_000, hash: `0x${'b'.repeat(64)}`, timestamp: startSeconds + 1_000 + HASH_MEMORY_SECONDS },
  };
  // Submit each hash once more: while it is remembered, and when its order has long expired.
  const again = stream.filter(({ headers }) => /OrderSubmitted|OrderCancelled/.test(headers['ce_type'] ?? ''));
  const whole = withoutGaps([...stream, ...again, storedRecord(later, { partition, offset: 0n }), ...again]);

  test('are not missed: no hash is accepted twice, and the rest equals a replay', async () => {
    const half = stream.length >> 1;
    await projectAll(here, here.projector(), whole.slice(0, half));
    const before = await countOf('order_history');
    await prune(BigInt(half));
    expect(await countOf('order_history')).toBeLessThan(before);
    await projectAll(here, here.projector(), whole.slice(0, stream.length + again.length));
    expect(await verifyReadModel(options())).toEqual([]);

    await projectAll(here, here.projector(), whole.slice(0, stream.length + again.length + 1));
    await prune(BigInt(stream.length + again.length + 1));
    await projectAll(here, here.projector(), whole);
    for (const table of ['orders', 'order_history', 'hashes'])
      expect([table, await countOf(table)]).toEqual([table, 0]);
    expect(await verifyReadModel(options())).toEqual([]);
  });

  test('belong to older facts in the log, and go round by round, even after a failed round', async () => {
    await projectAll(here, here.projector(), stream);
    const before = await countOf('order_history');
    let rounds = 0;
    let kept = 0;
    const { stop } = startPruning(
      pruning(async (topic, timestampMs) => {
        rounds += 1;
        if (rounds === 1) throw new Error('no answer');
        if (rounds === 3) kept = await countOf('order_history');
        return rounds === 2 ? here.log.offsetsAt(topic, timestampMs) : [BigInt(stream.length)];
      }),
    );
    await until(async () => rounds >= 3 && (await countOf('order_history')) < before);
    await stop();
    expect(kept).toBe(before);
    expect(await verifyReadModel(options())).toEqual([]);
  });

  test('are no excuse: a row that is missing but was not pruned is named', async () => {
    await projectAll(here, here.projector(), stream);
    await prune(BigInt(stream.length >> 1));
    await here.postgres.query(
      'delete from order_history where log_offset = (select max(log_offset) from order_history)',
    );
    await here.postgres.query(`delete from hashes where order_hash = (
         select order_hash from hashes h join makers m using (maker) where coalesce(h.nonce >= m.nonce, true)
         order by order_hash limit 1)`);
    expect(await verifyReadModel(options())).toEqual([
      expect.stringMatching(/^order_history: /),
      expect.stringMatching(/^hashes: /),
    ]);
  });
});

describe('rebuild', () => {
  test('replaces spoiled rows by those of a replay while the projector goes on', async () => {
    running = await runProjector(readSettings(projectorSettings, here.environment), telemetry);
    const half = stream.length >> 1;
    await appendAll(here, stream.slice(0, half));
    await until(async () => (await here.position()) === BigInt(half));
    const feed = await readRecords(here.log, here.topics.book);
    await here.postgres.query('update funding set open_orders = open_orders + 1');
    expect(await rebuildReadModel(options())).toEqual([expect.stringMatching(/^funding: /)]);
    expect(await leftovers()).toBe(0);
    expect(await readRecords(here.log, here.topics.book)).toEqual(feed);
    await appendAll(here, stream);
    await until(async () => (await here.position()) === BigInt(stream.length));
    expect(await verifyReadModel(options())).toEqual([]);
  });

  test('keeps the rights that others have on the tables', async () => {
    await projectAll(here, here.projector(), stream.slice(0, 50));
    await asRole(here, ['select on orders'], async (url) => {
      expect(await rebuildReadModel(options())).toEqual([]);
      const postgres = connectPostgres({ url, connectTimeoutMs: 60_000 });
      try {
        await postgres.query('select count(*) from orders');
        await expect(postgres.query('select count(*) from makers')).rejects.toThrow(/permission denied/);
      } finally {
        await postgres.close();
      }
    });
  });
});
