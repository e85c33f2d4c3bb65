import { describe, expect, test } from '@jest/globals';
import { joinRecords, type ListRecord } from './join-records.js';

const record = (acceptedOffset: number, json: string, expiresAtSeconds = 9): ListRecord => ({
  orderHash: `0x${String(acceptedOffset).padStart(64, '0')}`,
  acceptedOffset,
  expiresAtSeconds,
  json: Buffer.from(json),
});
describe('records', () => {
  test.each([[[]], [['{}']], [['{"a":1}', '{"b":"ü"}', '"c"']]])(
    '%j are joined into one array and share its bytes',
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
