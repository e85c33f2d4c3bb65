import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { testParts } from '@makerbook/parts';
import { byteaOf, connectPostgres, type HistoryEntry, migrate, type Postgres, readOrderHistory } from './index.js';

const maker: Hex = `0x${'a1'.repeat(20)}`;
const other: Hex = `0x${'b2'.repeat(20)}`;
const order: Hex = `0x${'01'.repeat(32)}`;

let postgres: Postgres;
beforeAll(async () => {
  const url = await testParts().databaseUrl();
  await migrate({ url, connectTimeoutMs: 60_000 });
  postgres = connectPostgres({ url, connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 });
});
afterAll(() => postgres.close());
beforeEach(() => postgres.query('truncate order_history, hashes, in_flight'));

const happen = (happened: HistoryEntry['happened'], logOffset: number, reason: string | null = null, whose = maker) =>
  postgres.query(
    `insert into order_history (partition, log_offset, order_hash, maker, happened, status, reason, remaining)
     values (3, $1, $2, $3, $4, $5, $6, 9)`,
    [logOffset, byteaOf(order), byteaOf(whose), happened, happened === 'OPENED' ? 'VALIDATING' : 'ACTIVE', reason],
  );
const remember = (state: string, whose = maker) =>
  postgres.query(
    `insert into hashes (order_hash, maker, partition, state, salt, nonce, expires_at_seconds) values ($1, $2, 3, $3, $4, 0, 9)`,
    [byteaOf(order), byteaOf(whose), state, state === 'UNFOLDED' ? '0x1' : null],
  );
const read = (whose = maker, entriesMax = 10) => readOrderHistory(postgres, whose, order, entriesMax);
const happeningsOf = ({ entries }: Awaited<ReturnType<typeof read>>) =>
  entries.map(({ happened, logOffset }) => `${happened} ${logOffset}`);

describe('the history of an order', () => {
  test('comes in the order of the log, and of what one fact did', async () => {
    await happen('REMOVED', 7, 'CANCELLED');
    await happen('OPENED', 7);
    await remember('ACCEPTED');
    expect(await read()).toEqual({
      hash: 'ACCEPTED',
      entries: [
        { partition: 3, logOffset: 7n, happened: 'OPENED', status: 'VALIDATING', reason: null, remaining: 9n },
        { partition: 3, logOffset: 7n, happened: 'REMOVED', status: 'ACTIVE', reason: 'CANCELLED', remaining: 9n },
      ],
    });
  });

  test('has the first and the newest where there are more than were asked for', async () => {
    await happen('OPENED', 1);
    for (let offset = 2; offset <= 9; offset += 1) await happen('CHANGED', offset);
    expect(happeningsOf(await read(maker, 3))).toEqual(['OPENED 1', 'CHANGED 8', 'CHANGED 9']);
    expect(happeningsOf(await read(maker, 9))).toHaveLength(9);
  });

  test('is the maker’s alone', async () => {
    await happen('OPENED', 1, null, other);
    await remember('ACCEPTED', other);
    expect(await read()).toEqual({ entries: [], hash: 'UNKNOWN' });
  });

  test('is empty once it is pruned, and of an order on its way or in quarantine', async () => {
    await remember('ACCEPTED');
    expect(await read()).toEqual({ entries: [], hash: 'ACCEPTED' });
    await postgres.query('truncate hashes');
    await remember('UNFOLDED');
    expect(await read()).toEqual({ entries: [], hash: 'PLACED' });
    await postgres.query('truncate hashes');
    await remember('CANCELLED');
    expect(await read()).toEqual({ entries: [], hash: 'UNKNOWN' });
    await postgres.query(
      `insert into in_flight (order_hash, maker, partition, salt, expires_at_seconds, until_ms) values ($1, $2, 3, '0x1', 9, 9)`,
      [byteaOf(order), byteaOf(maker)],
    );
    expect(await read()).toEqual({ entries: [], hash: 'PLACED' });
  });
});
