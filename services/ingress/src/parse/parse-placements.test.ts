import { describe, expect, test } from '@jest/globals';
import { isRefusal } from '@makerbook/http';
import fc from 'fast-check';
import { parsePlacements } from './parse-placements.js';

const digits = (min: number, max: number) =>
  fc
    .array(fc.constantFrom(...'0123456789abcdefABCDEF'), { minLength: min, maxLength: max })
    .map((list) => `0x${list.join('')}`);
const hexBytes = (length: number) => digits(length * 2, length * 2);
const amount = fc.record({ token: hexBytes(20), amount: digits(1, 64) });
const order = fc.record({
  salt: digits(1, 64),
  nonce: digits(1, 64),
  expiresAt: digits(1, 64),
  making: amount,
  taking: amount,
  maker: hexBytes(20),
  permittedTaker: hexBytes(20),
});
const placement = fc.record({ order, signature: fc.oneof(hexBytes(65), hexBytes(64), hexBytes(3)) });

describe('a well-formed body', () => {
  test('is read with its values, in any case of hex and with leading zeros', () => {
    fc.assert(
      fc.property(fc.array(placement, { minLength: 1, maxLength: 3 }), (body) => {
        expect(parsePlacements(body, 3)).toEqual(
          body.map(({ order: posted, signature }) => ({
            order: {
              salt: BigInt(posted.salt),
              nonce: BigInt(posted.nonce),
              expiresAt: BigInt(posted.expiresAt),
              making: { token: posted.making.token.toLowerCase(), amount: BigInt(posted.making.amount) },
              taking: { token: posted.taking.token.toLowerCase(), amount: BigInt(posted.taking.amount) },
              maker: posted.maker.toLowerCase(),
              permittedTaker: posted.permittedTaker.toLowerCase(),
            },
            signature: signature.toLowerCase(),
          })),
        );
      }),
    );
  });

  const odd = fc.oneof(
    fc.constantFrom<unknown>(null, 0, 1, '', '0x', '0X1', '0xg', ' 0x1', '0x1\n', '0x1İ', [], {}, true),
    digits(65, 70),
    fc.jsonValue().filter((value) => typeof value !== 'string'),
  );
  const fields = ['salt', 'nonce', 'expiresAt', 'making', 'taking', 'maker', 'permittedTaker'] as const;

  test('is refused at the place of any field that is replaced, removed or added', () => {
    fc.assert(
      fc.property(placement, placement, fc.constantFrom(...fields), odd, (first, second, field, value) => {
        const { [field]: _gone, ...rest } = second.order;
        for (const spoilt of [rest, { ...second.order, [field]: value }, { ...second.order, [`${field}2`]: '0x1' }]) {
          const refusal = parsePlacements([first, { ...second, order: spoilt }], 100);
          expect(refusal).toMatchObject({ code: 'invalid_request', index: 1 });
          const pointers = isRefusal(refusal) ? (refusal.errors ?? []).map(({ pointer }) => pointer) : [];
          expect(pointers.every((pointer) => pointer.startsWith(`/1/order/${field}`))).toBe(true);
          expect(pointers.length).toBeGreaterThan(0);
        }
      }),
      { numRuns: 500 },
    );
  });
});
