import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decodeList, encodeList, type JoinedList, joinRecords } from './list-value.js';

const record = (acceptedOffset: number, json: string, expiresAtSeconds = 9) => ({
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
});

describe('a list in Redis', () => {
  const most = Number.MAX_SAFE_INTEGER;

  test('comes back as it was, with every version, time and offset', () => {
    const anyRecord = fc.record({
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
    expect(String(encodeList(list))).toBe('["12",[[3,9,7],[5,9,7]]]\n[{"a":1},no JSON]');
  });
});
