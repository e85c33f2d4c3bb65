import { describe, expect, test } from '@jest/globals';
import { parsePatch } from './parse-patch.js';

describe('the body of a PATCH', () => {
  test.each([
    ['hex', '0x1F', 31n],
    ['digits', '31', 31n],
    ['zero', '0', 0n],
    ['the largest uint256', String(2n ** 256n - 1n), 2n ** 256n - 1n],
  ])('takes an amount as %s', (_, amount, minOutput) => {
    expect(parsePatch({ data: '0x', minOutput: { amount } })).toEqual({ data: '0x', minOutput });
  });

  test('may leave the minimum out', () => {
    expect(parsePatch({ data: 'anything' })).toEqual({ data: 'anything', minOutput: undefined });
  });

  test.each<[string, unknown, string, string]>([
    ['no object', [], '', 'the body must be an object'],
    ['no data', {}, '/data', '/data must be a hex string'],
    ['data that is no text', { data: 5 }, '/data', '/data must be a hex string'],
    ['a bare amount', { data: '', minOutput: '5' }, '/minOutput', '/minOutput must be an object with `amount`'],
    ['a minimum of null', { data: '', minOutput: null }, '/minOutput', '/minOutput must be an object with `amount`'],
    ['an unknown field', { data: '', slippage: 1 }, '/slippage', '/slippage is not a field of the request'],
    [
      'an unknown field within',
      { data: '', minOutput: { amount: '1', 'a/b~': 1 } },
      '/minOutput/a~1b~0',
      '/minOutput/a~1b~0 is not a field of the request',
    ],
    [
      'an amount that is a number',
      { data: '', minOutput: { amount: 5 } },
      '/minOutput/amount',
      '/minOutput/amount must be a string: hex of at most 32 bytes such as "0x1f", or a whole number such as "31", below 2^256',
    ],
  ])('with %s is refused, and the place is named', (_, body, pointer, detail) => {
    expect(parsePatch(body)).toMatchObject({ code: 'invalid_request', detail, errors: [{ pointer }] });
  });
});
