import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { testParts } from '@makerbook/parts';
import {
  connectPostgres,
  findKnownHashes,
  loadReservations,
  migrate,
  type Postgres,
  pruneHashes,
  pruneHistory,
} from './index.js';

const partition = 3;
const maker: Hex = `0x${'a1'.repeat(20)}`;
const hashOf = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`;
/** The partition's clock, and how long a hash is kept beyond its expiry here. */
const [now, hashSeconds] = [1_000_000, 100];

let postgres: Postgres;
beforeEach(async () => {
  const url = await testParts().databaseUrl();
  await migrate({ url });
  postgres = connectPostgres({ url, connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 });
  await postgres.query(
    `insert into projections (partition, next_offset, block_timestamp) values (3, 20000, ${now}), (4, 20000, ${now})`,
  );
  await postgres.query(
    `insert into makers (maker, partition, admission) values ('\\x${maker.slice(2)}', ${partition}, 'ADMITTED')`,
  );
});
afterEach(() => postgres.close());

/** An order that was accepted at one offset and removed at another, with a change in between. */
async function remember(number: number, [opened, removed]: readonly [number, number], expiresAtSeconds: number) {
  for (const [offset, happened, reason, expiry] of [
    [opened, 'OPENED', null, expiresAtSeconds],
    [opened + 1, 'CHANGED', null, null],
    [removed, 'REMOVED', 'FILLED', null],
  ]) {
    await postgres.query(
      `insert into order_history (partition, log_offset, order_hash, maker, happened, status, reason, remaining, expires_at_seconds)
       values ($1, $2, $3, $4, $5, 'ACTIVE', $6, 1, $7)`,
      [partition, offset, bytes(hashOf(number)), bytes(maker), happened, reason, expiry],
    );
  }
}
const bytes = (hex: Hex) => `\\x${hex.slice(2)}`;

async function kept(): Promise<string[]> {
  const rows = await postgres.query<{ line: string }>(
    `select concat_ws(' ', log_offset, happened) as line from order_history order by log_offset`,
  );
  return rows.map(({ line }) => line);
}

const prune = (before: bigint) => pruneHistory(postgres, partition, { before, hashSeconds });
const pruneLeft = () => pruneHashes(postgres, partition, { hashSeconds });

describe('pruning', () => {
  test('deletes history before an offset, but for the hashes of orders that have not expired long enough ago', async () => {
    await remember(1, [10, 12], now - hashSeconds - 1);
    await remember(2, [20, 22], now - hashSeconds);
    await remember(3, [30, 52], now + 1);
    expect(await prune(50n)).toEqual({ rows: 6, isDone: true });
    expect(await kept()).toEqual(['20 OPENED', '30 OPENED', '52 REMOVED']);
    expect(await prune(50n)).toEqual({ rows: 0, isDone: true });
    expect(await pruneLeft()).toEqual({ rows: 0, isDone: true });

    const keys = [1, 2, 3].map((number) => ({ maker, orderHash: hashOf(number) }));
    const expiries = [now - hashSeconds - 1, now - hashSeconds, now + 1];
    const known = await findKnownHashes(
      postgres,
      partition,
      keys.map((key, n) => ({ ...key, expiresAtSeconds: expiries[n] ?? 0 })),
    );
    expect(known.accepted).toEqual(new Set([hashOf(2), hashOf(3)]));
    const { accepted } = await loadReservations(postgres, maker, partition, now);
    expect(accepted).toEqual([{ orderHash: hashOf(3), expiresAtSeconds: now + 1, isOpen: false }]);

    await postgres.query(`update projections set block_timestamp = ${now + hashSeconds + 1}`);
    expect(await pruneLeft()).toEqual({ rows: 1, isDone: true });
    expect(await kept()).toEqual(['30 OPENED', '52 REMOVED']);
  });

  test('keeps what is not old, whatever has expired, and goes in steps', async () => {
    await remember(1, [10, 12], 1);
    await remember(2, [7_000, 7_002], 1);
    expect(await prune(10n)).toEqual({ rows: 0, isDone: true });
    expect(await pruneLeft()).toEqual({ rows: 0, isDone: true });
    expect(await prune(11n)).toEqual({ rows: 1, isDone: true });
    expect(await prune(20_000n)).toEqual({ rows: 2, isDone: false });
    expect(await kept()).toEqual(['7000 OPENED', '7001 CHANGED', '7002 REMOVED']);
    while (!(await prune(2n ** 63n - 1n)).isDone);
    expect(await kept()).toEqual([]);
    const [row] = await postgres.query<{ history_from: bigint }>(
      'select history_from from projections where partition = 3',
    );
    expect(row?.history_from).toBe(20_000n);
  });

  test('forgets hashes that were cancelled before their orders came likewise', async () => {
    for (const [number, expiresAt] of [
      [1, now - hashSeconds - 1],
      [2, now - hashSeconds],
    ] as const) {
      await postgres.query('insert into cancelled_hashes values ($1, $2, $3, $4, 5)', [
        bytes(maker),
        expiresAt,
        bytes(hashOf(number)),
        partition,
      ]);
    }
    expect(await pruneLeft()).toEqual({ rows: 1, isDone: true });
    expect(await postgres.query('select order_hash from cancelled_hashes')).toEqual([{ order_hash: hashOf(2) }]);
  });

  test('leaves the hashes of a maker in quarantine, and other partitions, alone', async () => {
    await remember(1, [10, 12], 1);
    await postgres.query(
      `update makers set quarantined_offset = 30, quarantine_reason = 'a reason', quarantine_clock = '{}'`,
    );
    expect(await prune(50n)).toEqual({ rows: 2, isDone: true });
    expect(await pruneLeft()).toEqual({ rows: 0, isDone: true });
    expect(await kept()).toEqual(['10 OPENED']);
    await postgres.query(
      'update makers set quarantined_offset = null, quarantine_reason = null, quarantine_clock = null',
    );
    await pruneHistory(postgres, 4, { before: 50n, hashSeconds });
    await pruneHashes(postgres, 4, { hashSeconds });
    expect(await kept()).toEqual(['10 OPENED']);
    expect(await pruneLeft()).toEqual({ rows: 1, isDone: true });
  });
});
