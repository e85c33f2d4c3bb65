import { describe, expect, test } from '@jest/globals';
import type { StoredRecord } from '../log.js';
import { LogInMemory } from '../testing/log-in-memory.js';
import { nameLog, RESTORED_HEADER } from './name-log.js';

const place = { topic: 'log', partition: 0 };
const recordAt = (offset: bigint, over: Partial<StoredRecord> = {}): StoredRecord => ({
  ...place,
  offset,
  key: 'a',
  value: Buffer.from('1'),
  headers: { ce_id: 'id' },
  timestampMs: 1_000,
  ...over,
});
const nameOf = (records: readonly StoredRecord[], to: bigint) => {
  const log = new LogInMemory({ partitions: 1 });
  for (const record of records) log.put(record);
  return nameLog(log.connect(), place, to);
};

describe('the name of a partition of a log', () => {
  test('comes from its first record, wherever that is, and stays as the log grows', async () => {
    const first = await nameOf([recordAt(3n)], 4n);
    expect(first).toEqual({ name: expect.stringMatching(/^[0-9a-f]{8}$/), firstOffset: 3n });
    const more = Array.from({ length: 20 }, (_, n) => recordAt(BigInt(n + 4), { key: String(n) }));
    expect(await nameOf([recordAt(3n), ...more], 24n)).toEqual(first);
  });

  test('differs if the time, value, id or key of the first record differs, and in a restored log', async () => {
    const restored = { headers: { ce_id: 'id', [RESTORED_HEADER]: '2026-11-29T09:00:00.000Z' } };
    const changed = [
      { timestampMs: 1_001 },
      { value: Buffer.from('2') },
      { headers: { ce_id: 'other' } },
      { key: 'b' },
    ];
    const others = [...changed, restored];
    const names = await Promise.all(
      [{}, ...others].map(async (over) => (await nameOf([recordAt(0n, over)], 1n))?.name),
    );
    expect(new Set(names).size).toBe(6);
  });

  test('is missing before the first record', async () => {
    expect([await nameOf([], 0n), await nameOf([recordAt(3n)], 3n)]).toEqual([undefined, undefined]);
  });
});
