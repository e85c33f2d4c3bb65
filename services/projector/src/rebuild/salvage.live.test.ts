import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeMakerEvent, isHold, type MakerEvent, type MakerFact } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { RESTORED_HEADER, type StoredRecord } from '@makerbook/kafka';
import { readSettings } from '@makerbook/settings';
import { rebuildSettings } from '../env.js';
import { drawStream, makersOf } from '../testing/generate-facts.js';
import {
  appendAll,
  deploy,
  testPartition as partition,
  projectAll,
  type TestDeployment,
  testPartitions,
  withoutGaps,
} from '../testing/test-projection.js';
import { foldLog } from './fold-log.js';
import { salvage } from './salvage.js';

const makers = makersOf(partition, testPartitions, 3);
const stream = withoutGaps(drawStream(2, makers, partition, { facts: 250, orders: 12 }));
const ARCHIVED = 130;

/** The deployment whose brokers are lost, and the one that its archive is restored to. */
let [before, after]: [TestDeployment, TestDeployment] = [undefined as never, undefined as never];
beforeEach(async () => {
  [before, after] = await Promise.all([deploy(), deploy()]);
  const [first, ...more] = stream.slice(0, ARCHIVED) as [StoredRecord, ...StoredRecord[]];
  await appendAll(after, [{ ...first, headers: { ...first.headers, [RESTORED_HEADER]: 'now' } }, ...more]);
});
afterEach(async () => {
  await Promise.all([before.stop(), after.stop()]);
});

/** @param rows the deployment whose rows were kept */
const run = (rows: TestDeployment, { log, environment } = after) =>
  salvage(
    {
      database: { url: rows.databaseUrl },
      log,
      settings: readSettings(rebuildSettings, environment),
      report: () => undefined,
    },
    { commandId: randomUUID(), unixMs: Date.now },
  );

async function foldAll(): Promise<void> {
  const ends = await after.log.endOffsets(after.topics.makerEvents);
  const { log, postgres, topics, environment } = after;
  await foldLog(
    ends,
    { log, postgres, topics, settings: readSettings(rebuildSettings, environment) },
    { hasNoFeeds: true },
  );
}

async function factsBehind(offset: bigint): Promise<MakerEvent[]> {
  const facts: MakerEvent[] = [];
  for await (const { records } of after.log.readRange({ topic: after.topics.makerEvents, partition }, offset)) {
    for (const record of records) facts.push(decodeMakerEvent(record) as MakerEvent);
  }
  return facts;
}

const hashesOf = async ({ postgres }: TestDeployment, sql: string): Promise<string[]> =>
  (await postgres.query<{ order_hash: string }>(`${sql} order by order_hash`)).map(({ order_hash }) => order_hash);
const open = 'select order_hash from orders';
const cancelled = `select distinct order_hash from order_history where happened = 'REMOVED' and reason = 'CANCELLED'`;

const note = `insert into cancelling (maker, order_hash, partition, until_ms, instruction)`;
const bytes = (hash: string) => Buffer.from(hash.slice(2), 'hex');

describe('salvage', () => {
  test('appends what the rows had beyond a restored log, with all makers suspended and the book empty', async () => {
    await projectAll(before, before.projector(), stream);
    const [kept, gone] = [await hashesOf(before, open), await hashesOf(before, cancelled)];
    // Two orders' cancellations were answered and are not folded, nor is one of the two orders. One switch was answered
    // too. A third order is lost.
    const [maker] = makers as [Hex];
    const [late] = kept as [string];
    await before.postgres.query(
      `${note} select maker, order_hash, partition, 0, null from orders where order_hash = $1`,
      [bytes(late)],
    );
    const flown = [bytes(maker), Buffer.alloc(32, 0xdd), partition];
    await before.postgres.query(`${note} values ($1, $2, $3, 0, null)`, flown);
    const instruction = { subject: 'switch', issuedAtMs: 4_000_000_000_000, terms: { cancelAt: 4_000_000_000 } };
    const named = [bytes(maker), Buffer.alloc(32, 0xee), partition];
    await before.postgres.query(`${note} values ($1, $2, $3, 0, $4)`, [...named, JSON.stringify(instruction)]);
    const flying = 'insert into in_flight (maker, order_hash, partition, until_ms) values ($1, $2, $3, 0)';
    for (const each of [named, flown]) await before.postgres.query(flying, each);

    const lines = await run(before);
    expect(lines).toEqual([
      `lost: 0x${'ee'.repeat(32)} of ${maker} was on its way`,
      expect.stringMatching(/^appended: .*MakerSuspended/),
    ]);
    const [{ next_offset: told } = { next_offset: 0n }] = await before.postgres.query<{ next_offset: bigint }>(
      'select next_offset from projections where partition = $1',
      [partition],
    );
    const beyond = await factsBehind(BigInt(ARCHIVED));
    expect(beyond).toEqual(await factsBehind(told + 50_000n));
    expect(beyond.length).toBeGreaterThan(10);

    await foldAll();
    const now = await hashesOf(after, open);
    expect(now).toEqual(expect.arrayContaining(kept.filter((orderHash) => orderHash !== late)));
    for (const orderHash of [late, ...gone]) expect(now).not.toContain(orderHash);
    expect(await hashesOf(after, 'select order_hash from orders where in_book')).toEqual([]);
    const states = `select maker, limits, exits - 'cutoffs' - 'cancelAt' - 'switchIssuedAtMs' as exits from makers order by maker`;
    expect((await after.postgres.query<{ limits: object }>(states)).map(({ limits }) => limits)).toEqual(
      (await before.postgres.query<{ limits: object }>(states)).map(({ limits }) => limits),
    );
    const switches = `select exits->>'cancelAt' as at from makers where maker = $1`;
    expect(await after.postgres.query(switches, [named[0]])).toEqual([{ at: '4000000000' }]);
    // Hashes of orders that have ended are known, so they cannot be placed again.
    const known = 'select order_hash from hashes';
    expect(await hashesOf(after, known)).toEqual(expect.arrayContaining(await hashesOf(before, known)));
    expect(await hashesOf(after, known)).toContain(`0x${'dd'.repeat(32)}`);

    // A repeat changes nothing.
    await run(before);
    await foldAll();
    expect(await hashesOf(after, open)).toEqual(now);
  });

  test('cancels an archived order if its cancellation was answered before the rows had the order', async () => {
    await foldAll();
    const submitted = (hash: string) => stream.findIndex(({ value }) => value?.includes(hash));
    const [unfolded] = (await hashesOf(after, open)).sort((a, b) => submitted(b) - submitted(a)) as [string];
    await projectAll(before, before.projector(), stream.slice(0, submitted(unfolded)));
    const [order] = await after.postgres.query<{ maker: Hex }>('select maker from orders where order_hash = $1', [
      bytes(unfolded),
    ]);
    const named = [bytes(order?.maker ?? ''), bytes(unfolded), partition];
    await before.postgres.query(`${note} values ($1, $2, $3, 0, null)`, named);
    const flying = 'insert into in_flight (maker, order_hash, partition, until_ms) values ($1, $2, $3, 0)';
    await before.postgres.query(flying, named);
    expect(await run(before)).toHaveLength(1);
    await foldAll();
    expect(await hashesOf(after, open)).not.toContain(unfolded);
    expect(await hashesOf(after, cancelled)).toContain(unfolded);
  });

  test('writes nothing to a log that was not restored', async () => {
    await appendAll(before, stream);
    await expect(run(before, before)).rejects.toThrow('was not restored');
    const ends = await before.log.endOffsets(before.topics.makerEvents);
    expect(ends[partition]).toBe(BigInt(stream.length));
  });

  test('without rows, only puts the admitted makers and the service on hold', async () => {
    await run(before);
    const facts = (await factsBehind(BigInt(ARCHIVED))) as (MakerFact & { type: string })[];
    expect(facts.length).toBeGreaterThan(0);
    for (const fact of facts) {
      expect(['MakerSuspended', 'ServiceModeSet']).toContain(fact.type);
      expect(isHold(fact.cause)).toBe(true);
    }
    await foldAll();
    const admitted = await after.postgres.query(`select maker from makers where admission = 'ADMITTED'`);
    expect(admitted).toEqual([]);
    expect(await hashesOf(after, 'select order_hash from orders where in_book')).toEqual([]);
    expect((await hashesOf(after, open)).length).toBeGreaterThan(0);
  });
});
