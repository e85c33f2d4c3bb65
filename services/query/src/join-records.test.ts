import { expect, test } from '@jest/globals';
import { joinRecords, joinTexts } from './join-records.js';

test.each([[[]], [['{"a":"ü"}']], [['{"a":1}', '{"b":2}', '{"c":3}']]])(
  'records %j become one JSON array, the same from buffers and from texts',
  (records: string[]) => {
    const body = joinRecords(records.map((record) => ({ record: Buffer.from(record) })));
    expect(JSON.parse(body.toString())).toEqual(records.map((record) => JSON.parse(record)));
    expect(joinTexts(records).equals(body)).toBe(true);
  },
);
