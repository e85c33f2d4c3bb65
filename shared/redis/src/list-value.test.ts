import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decodeList, encodeList, type JoinedList, joinRecords, type ListRecord } from './list-value.js';

const record = (acceptedOffset: number, json: string, expiresAtSeconds = 9): ListRecord => ({
  orderHash: `0x${String(acceptedOffset).padStart(64, '0')}`,
  acceptedOffset,
  expiresAtSeconds,
  json: Buffer.from(json),
});
const described = ({ version, body, records }: JoinedList) => ({
  version,
  body: String(body),
  records: records.map((each) => ({ ...each, json: String(each.json) })),
});

describe('records', () => {
  test.each([[[]], [['{}']], [['{"a":1}', '{"b":"ü"}', '"c"']]])(
    '%j are joined to one array, of which each is a part',
    (texts) => {
      const { body, records } = joinRecords(
        7n,
        texts.map((text, index) => record(index, text)),
      );
      expect(JSON.parse(String(body))).toEqual(texts.map((text) => JSON.parse(text)));
      expect(records.map(({ json }) => String(json))).toEqual(texts);
      for (const { json } of records) expect(json.buffer).toBe(body.buffer);
    },
  );

  test('of a list are joined again as they were, with others between them', () => {
    const texts = ['{"a":1}', '2', '"three"', '[4]', '{"five":5}'];
    const list = joinRecords(
      1n,
      texts.map((text, index) => record(index, text)),
    );
    const positions = fc.uniqueArray(fc.nat({ max: texts.length - 1 }));
    fc.assert(
      fc.property(positions, fc.nat({ max: texts.length }), (kept, at) => {
        const chosen = kept.flatMap((index) => list.records[index] ?? []);
        const all = chosen.toSpliced(at, 0, record(9, '"new"'));
        const joined = joinRecords(2n, all);
        expect(String(joined.body)).toBe(`[${all.map(({ json }) => String(json)).join(',')}]`);
        expect(joined.records.map(({ json }) => String(json))).toEqual(all.map(({ json }) => String(json)));
      }),
    );
  });
});

describe('a list in Redis', () => {
  const most = Number.MAX_SAFE_INTEGER;

  test('comes back as it was, with every version, time and offset', () => {
    const anyRecord = fc.record({
      orderHash: fc.constantFrom<`0x${string}`>('0x01', '0x02'),
      acceptedOffset: fc.nat({ max: most }),
      expiresAtSeconds: fc.nat({ max: most }),
      json: fc.json().map((json) => Buffer.from(json)),
    });
    const anyVersion = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(anyVersion, fc.array(anyRecord), (version, records) => {
        const list = joinRecords(version, records);
        expect(described(decodeList(encodeList(list)))).toEqual(described(list));
      }),
    );
  });

  test('is a line of figures and the body, which is not parsed', () => {
    const list = joinRecords(12n, [record(3, '{"a":1}'), record(5, 'no JSON')]);
    const hashes = list.records.map(({ orderHash }) => orderHash);
    expect(String(encodeList(list))).toBe(
      `["12",[[3,9,7,"${hashes[0]}"],[5,9,7,"${hashes[1]}"]],2]\n[{"a":1},no JSON]`,
    );
  });

  test('of an earlier build is not read', () => {
    for (const head of ['["12",[[3,9,7,"0x01"]]]', '["12",[[3,9,7,"0x01"]],1]'])
      expect(() => decodeList(Buffer.from(`${head}\n[{"a":1}]`))).toThrow('another build');
  });
});
