import { describe, expect, test } from '@jest/globals';
import { placementInput } from '@makerbook/contracts-http';
import fc from 'fast-check';
import { z } from 'zod';
import { parsePlacements, takeWellFormed } from './parse-placements.js';
import { isRefusal } from './refusal.js';

const schema = z.array(placementInput).min(1);
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

/** Values that stand where something else belongs. */
const odd = fc.oneof(
  fc.constantFrom<unknown>(null, undefined, 0, 1, '', '0x', '0X1', '0xg', ' 0x1', '0x1\n', '0x1İ', [], {}, true),
  digits(0, 70),
  digits(2045, 2060),
  fc.string(),
  fc.jsonValue(),
);

/** A well-formed body with one value replaced, removed or added, somewhere. */
const spoilt = fc
  .tuple(fc.array(placement, { minLength: 1, maxLength: 3 }), fc.nat(), odd, fc.constantFrom('set', 'delete', 'add'))
  .map(([body, at, value, how]) => {
    const copy = JSON.parse(JSON.stringify(body)) as Record<string, unknown>[];
    const places: [Record<string, unknown>, string][] = [];
    const walk = (node: Record<string, unknown>) => {
      for (const [name, child] of Object.entries(node)) {
        places.push([node, name]);
        if (typeof child === 'object' && child !== null) walk(child as Record<string, unknown>);
      }
    };
    walk(copy as unknown as Record<string, unknown>);
    const [node, name] = places[at % places.length] ?? [copy[0] ?? {}, 'order'];
    if (how === 'delete' && !Array.isArray(node)) delete node[name];
    else if (how === 'add' && !Array.isArray(node)) node[typeof value === 'string' ? value : 'more'] = value;
    else node[name] = value;
    return JSON.parse(JSON.stringify(copy)) as unknown;
  });

describe('the parser by hand and the schema of the contract', () => {
  test('take the same bodies', () => {
    fc.assert(
      fc.property(fc.oneof(spoilt, fc.array(placement, { maxLength: 3 }), odd), (body) => {
        expect(takeWellFormed(body) !== undefined).toBe(schema.safeParse(body).success);
      }),
      { numRuns: 3000 },
    );
  });

  test('read the same values', () => {
    fc.assert(
      fc.property(fc.array(placement, { minLength: 1, maxLength: 3 }), (body) => {
        const parsed = schema.parse(body);
        expect(takeWellFormed(body)).toEqual(
          parsed.map((item) => ({
            order: {
              salt: BigInt(item.order.salt),
              nonce: BigInt(item.order.nonce),
              expiresAt: BigInt(item.order.expiresAt),
              making: { token: item.order.making.token.toLowerCase(), amount: BigInt(item.order.making.amount) },
              taking: { token: item.order.taking.token.toLowerCase(), amount: BigInt(item.order.taking.amount) },
              maker: item.order.maker.toLowerCase(),
              permittedTaker: item.order.permittedTaker.toLowerCase(),
            },
            signature: item.signature.toLowerCase(),
          })),
        );
      }),
    );
  });

  test('agree about a key that shadows the prototype', () => {
    const body: unknown = JSON.parse('[{"order":{"__proto__":1},"signature":"0x"}]');
    expect(takeWellFormed(body)).toBeUndefined();
    expect(schema.safeParse(body).success).toBe(false);
  });
});

describe('what is wrong is said', () => {
  test('with a pointer for each place, at most twenty of them', () => {
    const refusal = parsePlacements(
      Array.from({ length: 30 }, () => ({ order: 1 })),
      100,
    );
    expect(isRefusal(refusal) && refusal.errors).toHaveLength(20);
    expect(refusal).toMatchObject({
      code: 'invalid_request',
      index: 0,
      errors: expect.arrayContaining([{ pointer: '/1/signature', detail: expect.any(String) }]),
    });
  });

  test('too many items are told before their shape is looked at', () => {
    expect(parsePlacements([1, 2, 3], 2)).toMatchObject({ code: 'too_many_orders', index: 2 });
  });
});
