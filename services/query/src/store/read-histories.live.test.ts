import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { happenings } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf } from '@makerbook/postgres';
import { addressOf, insertRow, openTestDatabase } from '@makerbook/postgres/testing';
import { type HistoryPlace, type OrderChange, readMakerHistory } from './read-histories.js';
import { readOrderHistory } from './read-order-history.js';

const maker: Hex = `0x${'a1'.repeat(20)}`;
const order: Hex = `0x${'01'.repeat(32)}`;

const { owner, postgres, close } = await openTestDatabase('query');
afterAll(close);
beforeEach(() => owner.query('truncate order_history, fills, hashes, in_flight, makers'));

const happen = (
  happened: OrderChange['happened'],
  logOffset: number,
  reason: string | null = null,
  orderHash = order,
  whose = maker,
) =>
  insertRow(owner, 'order_history', {
    log_offset: logOffset,
    order_hash: orderHash,
    maker: whose,
    salt: happened === 'OPENED' ? '0x7' : null,
    happened,
    status: happened === 'OPENED' ? 'VALIDATING' : 'ACTIVE',
    reason,
  });
const fill = (logOffset: number, logIndex: number, orderHash = order) =>
  insertRow(owner, 'fills', { order_hash: orderHash, maker, log_index: logIndex, log_offset: logOffset });
const remember = (state: string) =>
  insertRow(owner, 'hashes', {
    order_hash: order,
    maker,
    state,
    salt: state === 'UNFOLDED' ? '0x1' : null,
  });
const read = (entriesMax = 10) => readOrderHistory(postgres, maker, order, entriesMax);
const happeningsOf = ({ entries }: Awaited<ReturnType<typeof read>>) =>
  entries.map(({ happened, logOffset }) => `${happened} ${logOffset}`);

describe('the history of an order', () => {
  test('has the first and the newest entries if there are more than were asked for', async () => {
    await happen('OPENED', 1);
    for (let offset = 2; offset <= 9; offset += 1) await happen('CHANGED', offset);
    expect(happeningsOf(await read(3))).toEqual(['OPENED 1', 'CHANGED 8', 'CHANGED 9']);
    expect(happeningsOf(await read(9))).toHaveLength(9);
  });

  test('also has how the order ended, however often it was filled afterwards', async () => {
    await happen('OPENED', 1);
    await happen('REMOVED', 2, 'CANCELLED');
    for (let offset = 3; offset <= 9; offset += 1) await fill(offset, offset);
    expect(happeningsOf(await read(3))).toEqual(['OPENED 1', 'REMOVED 2', 'FILLED 8', 'FILLED 9']);
  });

  test('ends before an offset if one is given, and says how far the rows have come', async () => {
    await owner.query(
      `insert into projections (partition, next_offset) values (3, 9)
       on conflict (partition) do update set next_offset = 9, history_from = 0`,
    );
    await happen('OPENED', 2);
    for (let offset = 3; offset <= 7; offset += 1) await happen('CHANGED', offset);
    await fill(4, 5);
    const before = (offset: bigint, entriesMax = 10) => readOrderHistory(postgres, maker, order, entriesMax, offset);
    expect(happeningsOf(await before(5n))).toEqual(['OPENED 2', 'CHANGED 3', 'FILLED 4', 'CHANGED 4']);
    expect(happeningsOf(await before(5n, 2))).toEqual(['OPENED 2', 'CHANGED 4']);
    // The caller needs the later opening to see that the order was opened later.
    expect(happeningsOf(await before(1n))).toEqual(['OPENED 2']);
    expect((await before(5n)).foldedTo).toBe(9n);
  });

  test('has its fills, each before the change that it caused', async () => {
    await happen('OPENED', 1);
    await happen('CHANGED', 2);
    await fill(2, 5);
    await fill(2, 4);
    expect(happeningsOf(await read())).toEqual(['OPENED 1', 'FILLED 2', 'FILLED 2', 'CHANGED 2']);
    expect(happeningsOf(await read(2))).toEqual(['OPENED 1', 'CHANGED 2']);
  });

  test('is empty once it is pruned, and while the order is in flight or in quarantine', async () => {
    for (const [state, hash] of [
      ['ACCEPTED', 'ACCEPTED'],
      ['UNFOLDED', 'PLACED'],
      ['CANCELLED', 'UNKNOWN'],
    ] as const) {
      await owner.query('truncate hashes');
      await remember(state);
      expect(await read()).toMatchObject({ entries: [], hash });
    }
    await insertRow(owner, 'in_flight', { order_hash: order, maker });
    expect(await read()).toMatchObject({ entries: [], hash: 'PLACED' });
  });
});

describe('the history of a maker', () => {
  const second: Hex = `0x${'02'.repeat(32)}`;
  const page = (after: HistoryPlace, over: object = {}) =>
    readMakerHistory(postgres, {
      maker,
      partition: 3,
      after,
      before: undefined,
      happened: happenings,
      entriesMax: 100,
      ...over,
    });
  const told = ({ entries }: Awaited<ReturnType<typeof page>>) =>
    entries.map((entry) => `${entry.logOffset} ${entry.orderHash.slice(2, 4)} ${entry.happened}`);

  beforeEach(async () => {
    await owner.query(
      `insert into projections (partition, next_offset) values (3, 9)
       on conflict (partition) do update set next_offset = 9, block_parts = 0, history_from = 0`,
    );
    await happen('OPENED', 1);
    await happen('CHANGED', 4);
    await fill(4, 3);
    await fill(4, 2, second);
    await happen('REMOVED', 8, 'CANCELLED');
  });
  const all = ['1 01 OPENED', '4 01 FILLED', '4 01 CHANGED', '4 02 FILLED', '8 01 REMOVED'];

  test.each([1, 2, 100])('comes in pages of %i, without a gap or a repeat', async (entriesMax) => {
    const read: string[] = [];
    for (let after: HistoryPlace = { offset: 0n }, hasMore = true; hasMore; ) {
      const one = await page(after, { entriesMax });
      read.push(...told(one));
      ({ next: after, hasMore } = one);
      if (!hasMore) expect(after).toEqual({ offset: 9n });
    }
    expect(read).toEqual(all);
  });

  test('for one salt has all orders with it and no others, in pages', async () => {
    const third: Hex = `0x${'03'.repeat(32)}`;
    await happen('OPENED', 5, null, third);
    await happen('CHANGED', 6, null, third);
    await happen('OPENED', 7, null, `0x${'04'.repeat(32)}`, addressOf(9));
    await owner.query(`update order_history set salt = '0x8' where log_offset = 7`);
    const salted = async (salt: Hex, over: object = {}) => {
      const read: string[] = [];
      for (let after: HistoryPlace = { offset: 0n }, hasMore = true; hasMore; ) {
        const one = await page(after, { salt, entriesMax: 2, ...over });
        read.push(...told(one));
        ({ next: after, hasMore } = one);
      }
      return read;
    };
    // The fill of an order that was never placed here has no salt.
    const own = ['1 01 OPENED', '4 01 FILLED', '4 01 CHANGED', '5 03 OPENED', '6 03 CHANGED', '8 01 REMOVED'];
    expect(await salted('0x7')).toEqual(own);
    expect(await salted('0x7', { happened: ['REMOVED', 'FILLED'] })).toEqual(['4 01 FILLED', '8 01 REMOVED']);
    expect(await salted('0x7', { before: 5n })).toEqual(own.slice(0, 3));
    expect(await salted('0x8')).toEqual([]);
  });

  test('is searched for a rare kind one bounded part at a time', async () => {
    await owner.query(
      `insert into order_history (partition, log_offset, order_hash, maker, happened, status, reason, remaining)
       select 3, 10 + n, $1, $2, 'CHANGED', 'ACTIVE', null, 9 from generate_series(1, 6000) as n`,
      [byteaOf(order), byteaOf(maker)],
    );
    await happen('REMOVED', 7000, 'CANCELLED');
    await owner.query('update projections set next_offset = 8000 where partition = 3');
    const first = await page({ offset: 9n }, { happened: ['REMOVED'] });
    expect([told(first), first.hasMore]).toEqual([[], true]);
    const second = await page(first.next, { happened: ['REMOVED'] });
    expect([told(second), second.hasMore]).toEqual([['7000 01 REMOVED'], false]);
    expect((await page({ offset: 9n }, { happened: ['FILLED'] })).hasMore).toBe(false);
    const both = await page({ offset: 0n }, { happened: ['REMOVED'] });
    expect([told(both), both.hasMore]).toEqual([['8 01 REMOVED'], true]);
  });

  test.each([
    ['of a change', 1, 'CHANGED'],
    ['of a fill', 0, 'FILLED'],
  ])(
    'goes on after the last entry %s that was read, even if a crash undoes the rows of its fact',
    async (_, at, what) => {
      const { next, entries } = await page({ offset: 4n }, { entriesMax: at + 1 });
      expect([next.offset, entries.at(-1)?.happened]).toEqual([4n, what]);
      for (const end of [4, 3]) {
        await owner.query('update projections set next_offset = $1 where partition = 3', [end]);
        expect(await page(next)).toMatchObject({ entries: [], next, hasMore: false });
      }
      // The facts are folded again: what was read does not come twice.
      await owner.query('update projections set next_offset = 9 where partition = 3');
      expect(told(await page(next))).toEqual(all.slice(2 + at));
    },
  );

  test('ends at a fact that is only partly folded, and at a quarantine', async () => {
    const trusted = { entries: [], next: { offset: 8n }, hasMore: false, isUnsure: false };
    await owner.query('update trust set is_trusted = true, started_at = pg_postmaster_start_time()');
    await owner.query('update projections set next_offset = 8 where partition = 3');
    expect(await page({ offset: 5n })).toMatchObject(trusted);
    await owner.query('update projections set block_parts = 1 where partition = 3');
    expect(await page({ offset: 5n })).toMatchObject({ ...trusted, isUnsure: true });
    const quarantine = { quarantined_offset: 4, quarantine_reason: 'a bug', quarantine_clock: '{}' };
    await insertRow(owner, 'makers', { maker, ...quarantine });
    const one = await page({ offset: 0n });
    expect([told(one), one.next]).toEqual([all.slice(0, 1), { offset: 4n }]);
  });
});
