import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { joinRecords, type ListRecord } from './join-records.js';

const record = (acceptedOffset: number, json: string, expiresAtSeconds = 9): ListRecord => ({
  orderHash: `0x${String(acceptedOffset).padStart(64, '0')}`,
  acceptedOffset,
  expiresAtSeconds,
  json: Buffer.from(json),
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
