import { describe, expect, test } from '@jest/globals';
import { listQuery } from '@makerbook/contracts-http';
import { z } from 'zod';
import { parseAs, readQuery } from './parse-as.js';

const schema = z.strictObject({
  kind: z.enum(['a', 'b']),
  list: z.array(z.string().max(2)).min(1).max(2),
  count: z.number(),
  own: z.custom((value) => value === 1, { error: 'must be 1' }),
});

test('a value of the wrong shape is refused with a reason for each field', () => {
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

const given = 'issuedAt=1&salt=0x1&signature=0x';

const errorsAt = (pointers: readonly string[]) => pointers.map((pointer) => expect.objectContaining({ pointer }));

describe('the parameters of a query', () => {
  test.each<[string, string, string[], string]>([
    [
      'all that are missing',
      '',
      ['/issuedAt', '/salt', '/signature'],
      '/issuedAt is missing; `errors` names what else',
    ],
    ['one that is given twice', `${given}&salt=0x1`, ['/salt'], '/salt is given more than once'],
    ['one that is unknown', `${given}&cursr=1`, ['/cursr'], '/cursr is not a parameter of'],
    ['one named as a part of every object', `${given}&__proto__=1`, ['/__proto__'], '/__proto__'],
    [
      'all that are wrong',
      'issuedAt=0x1&salt=1&signature=x&limit=0&cursor=-1',
      ['/issuedAt', '/salt', '/signature', '/limit', '/cursor'],
      '/issuedAt must be an integer of Unix seconds',
    ],
    ['a time that is no uint256', `issuedAt=${'9'.repeat(78)}&salt=0x1&signature=0x`, ['/issuedAt'], 'uint256'],
    ['a page that is too large', `${given}&limit=1001`, ['/limit'], '/limit must be at most 1000'],
  ])('are refused, and the errors name %s', (_what, query, pointers, detail) => {
    const refusal = readQuery(new URLSearchParams(query), listQuery);
    expect(refusal).toMatchObject({ code: 'invalid_request', detail: expect.stringContaining(detail) });
    expect(refusal).toHaveProperty('errors', errorsAt(pointers));
    expect(refusal).not.toHaveProperty('index');
  });

  test('that are wrong are named, up to twenty of them', () => {
    const query = new URLSearchParams(Array.from({ length: 500 }, (_, n): [string, string] => [`p${n}`, '']));
    expect(readQuery(query, listQuery)).toHaveProperty('errors.length', 20);
  });
});
