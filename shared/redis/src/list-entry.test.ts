import { describe, expect, test } from '@jest/globals';
import { encodeListEntry, joinEntries, joinRecords } from './list-entry.js';

const entry = (acceptedOffset: bigint, expiresAtSeconds: number, json: string) =>
  Buffer.from(encodeListEntry({ acceptedOffset, expiresAtSeconds, json }));

describe('the entries of a list', () => {
  test('come out as an array of the records that went in, oldest first', () => {
    const { body, records } = joinEntries([entry(100n, 9, '{"b":"ü"}'), entry(99n, 9, '{"a":1}')], 0);
    expect(body.toString()).toBe('[{"a":1},{"b":"ü"}]');
    expect(records.map(({ acceptedOffset, record }) => [acceptedOffset, String(record)])).toEqual([
      [99, '{"a":1}'],
      [100, '{"b":"ü"}'],
    ]);
  });

  test('are hidden from the second of their expiry', () => {
    const entries = [entry(1n, 50, 'a'), entry(2n, 51, 'b')];
    expect(joinEntries(entries, 50).body.toString()).toBe('[b]');
  });

  test('hold every time and offset up to 2^53 - 1 exactly', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const entries = [entry(BigInt(most), most, 'b'), entry(BigInt(most) - 1n, most, 'a')];
    expect(joinEntries(entries, most - 1).body.toString()).toBe('[a,b]');
    expect(joinEntries(entries, most).body.toString()).toBe('[]');
  });
});

test.each([[[]], [['{}']], [['{"a":1}', '{"b":"ü"}', '"c"']]])(
  '%j is joined to one array, of which each record is a part',
  (texts) => {
    const { body, records } = joinRecords(
      texts.map((text, acceptedOffset) => ({ acceptedOffset, record: Buffer.from(text) })),
    );
    expect(JSON.parse(body.toString())).toEqual(texts.map((text) => JSON.parse(text)));
    expect(records.map(({ record }) => String(record))).toEqual(texts);
    for (const { record } of records) expect(record.buffer).toBe(body.buffer);
  },
);
