import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { byteaOf } from '@makerbook/postgres';
import { hashOf, insertRow, openTestDatabase } from '@makerbook/postgres/testing';
import { pruneHashes, pruneHistory } from './prune-history.js';

const partition = 3;
const maker: Hex = `0x${'a1'.repeat(20)}`;
/** The partition's clock, and how long a hash is kept beyond its expiry here. */
const [now, hashSeconds] = [1_000_000, 100];

const { owner, postgres, close } = await openTestDatabase('projector');
beforeEach(async () => {
  await owner.query('truncate projections, makers, order_history, hashes');
  await owner.query(
    `insert into projections (partition, next_offset, block_timestamp) values (3, 20000, ${now}), (4, 20000, ${now})`,
  );
  await insertRow(owner, 'makers', { maker });
});
afterAll(close);

/** The history of an order that was accepted at one offset and removed at another, with a change in between. */
async function happen(number: number, [opened, removed]: readonly [number, number]) {
  for (const [offset, happened, reason] of [
    [opened, 'OPENED', null],
    [opened + 1, 'CHANGED', null],
    [removed, 'REMOVED', 'FILLED'],
  ]) {
    await insertRow(owner, 'order_history', {
      log_offset: offset,
      order_hash: hashOf(number),
      maker,
      happened,
      reason,
    });
  }
}

async function remember(number: number, expiresAtSeconds: number, nonce: number | null = 5) {
  const known = { state: nonce === null ? 'CANCELLED' : 'ACCEPTED', nonce, expires_at_seconds: expiresAtSeconds };
  await insertRow(owner, 'hashes', { order_hash: hashOf(number), maker, ...known });
  await owner.query('update makers set remembered = remembered + 1');
}

async function kept(): Promise<string[]> {
  const rows = await owner.query<{ line: string }>(
    `select concat_ws(' ', log_offset, happened) as line from order_history order by log_offset`,
  );
  return rows.map(({ line }) => line);
}

/** Reads the numbers of the kept hashes, and checks that the maker's row counts them. */
async function keptHashes(): Promise<number[]> {
  const rows = await owner.query<{ hash: Hex }>('select order_hash as hash from hashes order by order_hash');
  expect(await owner.query('select remembered from makers')).toEqual([{ remembered: BigInt(rows.length) }]);
  return rows.map(({ hash }) => Number(hash));
}

const prune = (of = partition) => pruneHashes(postgres, of, hashSeconds);

describe('pruning history', () => {
  test('deletes what is before an offset, in steps', async () => {
    await happen(1, [10, 12]);
    await happen(2, [7_000, 7_002]);
    expect(await pruneHistory(postgres, partition, 10n)).toEqual({ rows: 0, isDone: true });
    expect(await pruneHistory(postgres, partition, 11n)).toEqual({ rows: 1, isDone: true });
    expect(await pruneHistory(postgres, partition, 11n)).toEqual({ rows: 0, isDone: true });
    expect(await pruneHistory(postgres, 4, 20_000n)).toEqual({ rows: 0, isDone: false });
    expect(await pruneHistory(postgres, partition, 20_000n)).toEqual({ rows: 2, isDone: false });
    expect(await kept()).toEqual(['7000 OPENED', '7001 CHANGED', '7002 REMOVED']);
    while (!(await pruneHistory(postgres, partition, 2n ** 63n - 1n)).isDone);
    expect(await kept()).toEqual([]);
    const [row] = await owner.query<{ history_from: bigint }>(
      'select history_from from projections where partition = 3',
    );
    expect(row?.history_from).toBe(20_000n);
  });
});

describe('pruning hashes', () => {
  test('deletes those of orders that expired long ago, also of orders that never came', async () => {
    await remember(1, now - hashSeconds);
    await remember(2, now - hashSeconds + 1);
    await remember(3, now - hashSeconds, null);
    await remember(4, now + 1, null);
    expect(await prune()).toEqual({ rows: 2, isDone: true });
    expect(await keptHashes()).toEqual([2, 4]);
    expect(await prune()).toEqual({ rows: 0, isDone: true });
  });

  test('deletes those whose nonce the maker has passed, and keeps those of an unknown nonce', async () => {
    for (const [number, nonce] of [4, 5, 6, null].entries()) await remember(number, now + 1, nonce);
    expect(await prune()).toEqual({ rows: 0, isDone: true });
    await owner.query('update makers set nonce = 5, nonce_block = 1');
    expect(await prune()).toEqual({ rows: 1, isDone: true });
    expect(await keptHashes()).toEqual([1, 2, 3]);
    await owner.query('update makers set nonce = 7');
    expect(await prune()).toEqual({ rows: 2, isDone: true });
    expect(await keptHashes()).toEqual([3]);
  });

  test('keeps those whose record may come again, whatever the nonce', async () => {
    await remember(1, now + 1, 4);
    await remember(2, now + 1, 4);
    await owner.query('update makers set nonce = 5, nonce_block = 1');
    const keepUntil = 'update hashes set kept_until_seconds = $1 where order_hash = $2';
    await owner.query(keepUntil, [now, byteaOf(hashOf(1))]);
    await owner.query(keepUntil, [now + 1, byteaOf(hashOf(2))]);
    expect(await prune()).toEqual({ rows: 1, isDone: true });
    expect(await keptHashes()).toEqual([2]);
  });

  test('leaves alone those of a quarantined maker and of other partitions', async () => {
    await remember(1, 1);
    await remember(2, now + 1, 4);
    await owner.query(
      `update makers set nonce = 5, nonce_block = 1, quarantined_offset = 30, quarantine_reason = 'a reason',
         quarantine_clock = '{}'`,
    );
    expect(await prune()).toEqual({ rows: 0, isDone: true });
    await owner.query('update makers set quarantined_offset = null, quarantine_reason = null, quarantine_clock = null');
    expect(await prune(4)).toEqual({ rows: 0, isDone: true });
    expect(await keptHashes()).toEqual([1, 2]);
    expect(await prune()).toEqual({ rows: 2, isDone: true });
    expect(await keptHashes()).toEqual([]);
  });
});
