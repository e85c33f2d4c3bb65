import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { addressOf, hashOf, insertRow, openTestDatabase, type TestDatabase } from '@makerbook/postgres/testing';
import { type OpenOrderRow, readOpenOrders } from './read-open-orders.js';

const ORDERS = 2500;

describe('the open orders of the read model', () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await openTestDatabase('chain-watcher');
    await database.owner.query(`insert into projections (partition, next_offset, block_number, block_timestamp)
      values (0, 70, 12, 1700000000), (1, 9, null, 0)`);
    await insertOrders(1, ORDERS);
  });
  afterEach(() => database.close());

  /** Inserts orders by number. Every third one is not observed. */
  const insertOrders = (first: number, last: number) =>
    database.owner.query(
      `insert into orders (order_hash, maker, partition, accepted_offset, accepted_at_ms, expires_at_seconds,
         making_token, making_amount, remaining, status, in_book, record_start, is_observed, wallet_signature)
       select decode(lpad(to_hex(n), 64, '0'), 'hex'), decode(lpad(to_hex(n % 100), 40, '0'), 'hex'), 0, n, 0, 1000 + n,
         decode(lpad('ee', 40, '0'), 'hex'), 5, 5, case n % 3 when 0 then 'VALIDATING' else 'ACTIVE' end, true,
         '{"order":{"making":{"token":"0x'||repeat('1', 40)||'"},"taking":{"token":"0x'||repeat('2', 40)||'","amount":"0x1"', n % 3 > 0,
         case n % 3 when 0 then '\\x5161'::bytea end
       from generate_series($1::integer, $2::integer) n`,
      [first, last],
    );
  const read = async (onPage?: () => Promise<unknown>) => {
    const orders: OpenOrderRow[] = [];
    const pages: number[] = [];
    const between: Promise<unknown>[] = [];
    const partitions = await readOpenOrders(
      database.postgres,
      (page) => {
        pages.push(page.length);
        orders.push(...page);
        if (onPage !== undefined && pages.length === 1) between.push(onPage());
      },
      1000,
    );
    await Promise.all(between);
    return { orders, pages, partitions };
  };

  test('come page by page, with the positions that they reflect', async () => {
    await insertRow(database.owner, 'makers', { maker: addressOf(7), partition: 0, nonce: 1, nonce_block: 9 });
    await database.owner.query(
      `insert into funding (maker, token, balance, allowance, block, open_orders)
       values (decode(lpad('7', 40, '0'), 'hex'), decode(lpad('ee', 40, '0'), 'hex'), 5, 5, 14, 1)`,
    );
    const quarantine = { quarantined_offset: 40, quarantine_reason: 'a bug', quarantine_clock: '{}' };
    await insertRow(database.owner, 'makers', { maker: addressOf(8), partition: 0, ...quarantine });
    const { orders, pages, partitions } = await read();
    expect(pages).toEqual([1000, 1000, 500]);
    expect(partitions).toEqual([
      {
        partition: 0,
        nextOffset: 70n,
        block: { number: 12, timestamp: 1_700_000_000 },
        newestRead: 14,
        makers: [addressOf(7), addressOf(8)],
        quarantined: new Map([[addressOf(8), 40n]]),
      },
      { partition: 1, nextOffset: 9n, block: undefined, newestRead: -1, makers: [], quarantined: new Map() },
    ]);
    const byHash = new Map(orders.map((order) => [Number(order.orderHash), order]));
    expect(byHash.size).toBe(ORDERS);
    expect(byHash.get(7)).toEqual({
      orderHash: hashOf(7),
      maker: addressOf(7),
      makingToken: addressOf(0xee),
      takingToken: `0x${'2'.repeat(40)}`,
      expiresAtSeconds: 1007,
      isRead: true,
      walletSignature: null,
    });
    expect(byHash.get(9)).toMatchObject({ isRead: false, walletSignature: '0x5161' });
  });

  test('are one snapshot, whatever is committed while they are read', async () => {
    const { orders } = await read(async () => {
      await database.owner.query('delete from orders');
      await insertOrders(ORDERS + 1, ORDERS + 10);
      await database.owner.query('update projections set next_offset = next_offset + 1');
    });
    expect(new Set(orders.map(({ orderHash }) => Number(orderHash)))).toEqual(
      new Set(Array.from({ length: ORDERS }, (_, n) => n + 1)),
    );
    const after = await read();
    expect(after.orders.length).toBe(10);
    expect(after.partitions[0]?.nextOffset).toBe(71n);
  });

  test('are fetched one page ahead, and a failure to take a page is reported', async () => {
    const steps: string[] = [];
    const transaction = database.postgres.transaction.bind(database.postgres);
    const watched: typeof database.postgres = {
      ...database.postgres,
      transaction: (work) =>
        transaction((query) =>
          work((text, ...rest) => {
            if (text.startsWith('fetch')) steps.push('asked');
            return query(text, ...rest);
          }),
        ),
    };
    const take = () => {
      steps.push('taken');
      if (steps.length === 5) throw new Error('no more');
    };
    await expect(readOpenOrders(watched, take, 1000)).rejects.toThrow('no more');
    expect(steps).toEqual(['asked', 'asked', 'taken', 'asked', 'taken']);
  });

  test('of an empty database are none', async () => {
    await database.owner.query('truncate orders, projections');
    expect(await read()).toEqual({ orders: [], pages: [], partitions: [] });
  });
});
