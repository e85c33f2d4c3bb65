import { describe, expect, test } from '@jest/globals';
import { encodeListEntry, recordsOf } from './list-entry.js';

const entry = (acceptedOffset: bigint, expiresAtSeconds: number, json: string) =>
  Buffer.from(encodeListEntry({ acceptedOffset, expiresAtSeconds, json }));

describe('the entries of a list', () => {
  test('come out as the records that went in, oldest first, without a copy', () => {
    const entries = [entry(100n, 9, '{"b":"ü"}'), entry(99n, 9, '{"a":1}')];
    const records = recordsOf(entries, 0).map(({ record }) => record);
    expect(records.map(String)).toEqual(['{"a":1}', '{"b":"ü"}']);
    expect(records[1]?.buffer).toBe(entries[0]?.buffer);
  });

  test('are hidden from the second of their expiry', () => {
    const entries = [entry(1n, 50, 'a'), entry(2n, 51, 'b')];
    expect(recordsOf(entries, 50).map(({ record }) => String(record))).toEqual(['b']);
  });

  test('hold every time and offset up to 2^53 - 1 exactly', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const entries = [entry(BigInt(most), most, 'b'), entry(BigInt(most) - 1n, most, 'a')];
    expect(recordsOf(entries, most - 1).map(({ record }) => String(record))).toEqual(['a', 'b']);
    expect(recordsOf(entries, most)).toEqual([]);
  });
});
