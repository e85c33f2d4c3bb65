import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf } from '@makerbook/postgres';
import { hashOf, insertRow, openTestDatabase } from '@makerbook/postgres/testing';
import { readListChanges, readListState } from './read-lists.js';

const maker: Hex = `0x${'a1'.repeat(20)}`;
const other: Hex = `0x${'b2'.repeat(20)}`;

const { owner, postgres, close } = await openTestDatabase('query');
afterAll(close);
beforeEach(async () => {
  await owner.query('truncate makers, orders, in_flight, cancelling');
  await owner.query('update trust set is_trusted = false, started_at = pg_postmaster_start_time()');
});

const addMaker = (whose: Hex, version: bigint) => insertRow(owner, 'makers', { maker: whose, list_version: version });
const addOrder = (n: number) =>
  insertRow(owner, 'orders', {
    order_hash: hashOf(n),
    maker,
    accepted_offset: n,
    expires_at_seconds: 1_700_000_000 + n,
    status: 'ACTIVE',
    record_start: `{"n":${n}`,
  });
const place = (whose: Hex, n: number, untilMs = 5) =>
  insertRow(owner, 'in_flight', { order_hash: hashOf(n), maker: whose, until_ms: untilMs });
const cancel = (whose: Hex, n: number, untilMs = 5) =>
  insertRow(owner, 'cancelling', { order_hash: hashOf(n), maker: whose, until_ms: untilMs });
const trust = (isTrusted: boolean) => owner.query('update trust set is_trusted = $1', [isTrusted]);

describe('the state of a list', () => {
  test('has the version, and names each write in flight separately', async () => {
    await trust(true);
    await addMaker(maker, 2n ** 60n);
    await addMaker(other, 7n);
    await place(maker, 1);
    await cancel(maker, 1);
    await cancel(maker, 2);
    await cancel(maker, 2, 6);
    await place(other, 3);
    // A note that a hash is unknown belongs to no maker.
    await owner.query('insert into in_flight (order_hash, until_ms) values ($1, 1)', [byteaOf(hashOf(4))]);
    const { version, unsettled } = await readListState(postgres, maker);
    expect([version, new Set(unsettled).size]).toEqual([2n ** 60n, 4]);
    expect((await readListState(postgres, other)).unsettled).toHaveLength(1);
    // Placing the same hash again is another write.
    const [first] = (await readListState(postgres, other)).unsettled;
    await owner.query('truncate in_flight');
    await place(other, 3, 9);
    expect((await readListState(postgres, other)).unsettled).not.toContain(first);
  });

  test('has the switch until the clock of the rows reaches it, and names a change of it in flight', async () => {
    await owner.query('delete from projections');
    await owner.query('insert into projections (partition, block_timestamp) values (3, 1700000000)');
    const read = async (cancelAt: number) => {
      await owner.query('truncate makers');
      await insertRow(owner, 'makers', { maker, list_version: 1n, exits: JSON.stringify({ cancelAt }) });
      return (await readListState(postgres, maker)).cancelAt;
    };
    expect([await read(1_700_000_001), await read(1_700_000_000), await read(0)]).toEqual([1_700_000_001, 0, 0]);
    const instruction = JSON.stringify({ subject: 'switch', issuedAtMs: 1, terms: { cancelAt: 2 } });
    await insertRow(owner, 'cancelling', { maker, order_hash: hashOf(1), instruction });
    expect((await readListState(postgres, maker)).unsettled).toHaveLength(1);
    await owner.query('truncate projections');
  });

  test('is unsure while the maker is in quarantine', async () => {
    await trust(true);
    const quarantine = { quarantined_offset: 3, quarantine_reason: 'a bug', quarantine_clock: '{}' };
    await insertRow(owner, 'makers', { maker, list_version: 2n, ...quarantine });
    await addMaker(other, 2n);
    expect((await readListState(postgres, maker)).isUnsure).toBe(true);
    expect((await readListState(postgres, other)).isUnsure).toBe(false);
  });

  test('is unsure until ingress trusts the server since its last start', async () => {
    const isUnsure = async () => (await readListState(postgres, maker)).isUnsure;
    expect(await isUnsure()).toBe(true);
    await trust(false);
    expect(await isUnsure()).toBe(true);
    await trust(true);
    expect(await isUnsure()).toBe(false);
    await owner.query(`update trust set started_at = started_at - interval '1 second'`);
    expect(await isUnsure()).toBe(true);
  });
});

describe('a list', () => {
  test('is read as the changes since a version, unless those are too old or too many', async () => {
    await owner.query('insert into projections (partition, history_from) values (3, 5)');
    await addMaker(maker, 12n);
    for (const n of [8, 9]) await addOrder(n);
    const changes = [
      [8, 8, 'OPENED'],
      [9, 10, 'CHANGED'],
      [9, 11, 'CHANGED'],
      [7, 12, 'REMOVED'],
    ] as const;
    for (const [n, offset, happened] of changes) {
      const reason = happened === 'REMOVED' ? 'FILLED' : null;
      await insertRow(owner, 'order_history', {
        maker,
        order_hash: hashOf(n),
        log_offset: offset,
        happened,
        reason,
      });
    }
    const since = async (version: bigint) => {
      const read = await readListChanges(postgres, maker, version);
      return read && [read.version, read.records.map(({ acceptedOffset }) => acceptedOffset), read.removed];
    };
    expect(await since(12n)).toEqual([12n, [], []]);
    expect(await since(11n)).toEqual([12n, [], [hashOf(7)]]);
    expect(await since(9n)).toEqual([12n, [9n], [hashOf(7)]]);
    expect(await since(4n)).toEqual([12n, [8n, 9n], [hashOf(7)]]);
    expect(await since(3n)).toBeUndefined();
    expect(await readListChanges(postgres, other, 9n)).toBeUndefined();
    await owner.query(
      `insert into order_history (partition, log_offset, order_hash, maker, happened, status, remaining)
       select 3, 100 + n, '\\x01', $1, 'CHANGED', 'ACTIVE', 1 from generate_series(1, 1001) as n`,
      [byteaOf(maker)],
    );
    expect(await since(11n)).toBeUndefined();
  });
});
