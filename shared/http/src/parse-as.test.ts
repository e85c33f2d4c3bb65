import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { parseAs } from './parse-as.js';

const schema = z.strictObject({
  kind: z.enum(['a', 'b']),
  list: z.array(z.string().max(2)).min(1).max(2),
  count: z.number(),
  own: z.custom((value) => value === 1, { error: 'must be 1' }),
});

test('a value of another shape is refused in words for its sender', () => {
  const faults = (value: unknown) => {
    const refusal = parseAs(schema, value);
    return 'errors' in refusal ? refusal.errors?.map(({ pointer, detail }) => `${pointer} ${detail}`) : [];
  };
  expect(faults([])).toEqual([' must be an object']);
  expect(faults({ kind: 'c', list: [], own: 2, more: 0 })).toEqual([
    '/kind must be one of a, b',
    '/list must have at least 1 items',
    '/count is missing',
    '/own must be 1',
    '/more is not a field of the request',
  ]);
  expect(faults({ kind: 'a', list: ['1', '2', '3'], count: '1', own: 1 })).toEqual([
    '/list must have at most 2 items',
    '/count must be a number',
  ]);
  expect(faults({ kind: 'a', list: ['1', 'abc'], count: 1, own: 1 })).toEqual([
    '/list/1 must have at most 2 characters',
  ]);
});
