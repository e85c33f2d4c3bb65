import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Asked, ladder, type Quote, quote } from './quote-orders.js';
import type { Pair } from './rank-orders.js';
import { hashOf } from './testing/feed-records.js';
import { makeVectors } from './testing/make-vectors.js';
import { askOracle, type Operation, playOperation } from './testing/quote-oracle.js';
import { addressOf, entryOf, type Given, openRouterBook, pair } from './testing/router-book.js';

const when = { nowSeconds: 1_000, gasPerOrder: 10 };

function bookOf(given: Readonly<Record<string, Given>>) {
  const book = openRouterBook();
  for (const [name, order] of Object.entries(given)) book.put(name, order);
  return book;
}

function levelsOf({ orders }: ReturnType<typeof bookOf>, of: Pair = pair, nowSeconds = 1_000) {
  return [...ladder(orders, of, { ...when, nowSeconds })].map(({ price, amountIn, amountOut, orders: count, gas }) => ({
    price: `${price.numerator}/${price.denominator}`,
    amountIn,
    amountOut,
    count,
    gas,
  }));
}

function ask({ orders }: ReturnType<typeof bookOf>, asked: Asked, backups = 0): Quote {
  return quote(orders, pair, asked, { ...when, backups });
}

const name = (hash: string) => hash.slice(2, 4);
const show = ({ fills, spares, amountIn, amountOut }: Quote) => ({
  fills: fills.map((fill) => [name(fill.entry.orderHash), fill.makingAmount, fill.takingAmount]),
  spares: spares.map((spare) => [name(spare.entry.orderHash), spare.makingAmount]),
  amountIn,
  amountOut,
});

test('the ladder takes shared funds off in the order of its levels, by maker and token', () => {
  const other = { tokenIn: addressOf('e'), tokenOut: pair.tokenOut };
  const book = bookOf({
    '01': { making: 10, taking: 30, funds: 12 },
    '02': { making: 10, taking: 20, funds: 12 },
    '03': { making: 10, taking: 10, funds: 99, allowance: 4, maker: 'd' },
    '04': { making: 10, taking: 10, funds: 12, tokens: other },
  });
  expect(levelsOf(book).map(({ price, amountOut }) => [price, amountOut])).toEqual([
    ['1/1', 4n],
    ['2/1', 10n],
    ['3/1', 2n],
  ]);
  expect(levelsOf(book, other)).toMatchObject([{ amountOut: 10n }]);
});

describe('a quote', () => {
  const orders = {
    '01': { making: 10, taking: 20 },
    '02': { making: 10, taking: 35 },
    '03': { making: 10, taking: 40, acceptedAtMs: 2 },
    '04': { making: 10, taking: 40, acceptedAtMs: 1 },
  };

  test('says what else can be filled of its last order, its gas and the block for which it holds', () => {
    const book = bookOf(orders);
    expect(ask(book, { amountOut: 3n })).toMatchObject({ fills: [{ executable: 10n }], gas: 10, block: { number: 9 } });
    expect(ask(book, { amountOut: 13n }).gas).toBe(20);
    const position = { partition: 4, offset: '0' };
    const [entry, block] = [
      { ...entryOf(hashOf('05'), { making: 1, taking: 1 }), position },
      { number: 8, hash: hashOf('bb'), timestamp: 999 },
    ];
    const id = { offset: 0n, index: 0 };
    book.orders.apply({ kind: 'entry', entry, before: undefined, id });
    book.orders.apply({ kind: 'clock', clock: { type: 'BookClock', block, position }, id });
    expect(ask(book, { amountOut: 1n }).block).toBe(block);
    expect(ask(book, { amountOut: 2n }).block).toBe(block);
  });
});

test('vectors.json is what `npm run generate -w @makerbook/book` writes', () => {
  expect(JSON.parse(readFileSync(new URL('../vectors.json', import.meta.url), 'utf8'))).toEqual(makeVectors());
});

describe('whatever happens to the book', () => {
  const small = fc.bigInt({ min: 1n, max: 30n });
  const operation: fc.Arbitrary<Operation> = fc.record({
    name: fc.constantFrom('01', '02', '03', '04', '05', '06'),
    // Most are put.
    what: fc.constantFrom('put' as const, 'put' as const, 'put' as const, 'FILLED' as const, 'CANCELLED' as const),
    given: fc.record({
      making: small,
      taking: small,
      remaining: small,
      maker: fc.constantFrom('c', 'd'),
      funds: fc.bigInt({ min: 0n, max: 40n }),
      allowance: fc.bigInt({ min: 0n, max: 40n }),
      block: fc.integer({ min: 1, max: 5 }),
      acceptedAtMs: fc.integer({ min: 0, max: 2 }),
      status: fc.constantFrom('ACTIVE' as const, 'ACTIVE' as const, 'ACTIVE' as const, 'INACTIVE' as const),
      routableUntil: fc.constantFrom(1_000, 1_001),
    }),
  });
  const asked: fc.Arbitrary<Asked> = fc.oneof(fc.record({ amountIn: small }), fc.record({ amountOut: small }));

  test('ladder and quote are those that all records, sorted and tried out one by one, give', () => {
    fc.assert(
      fc.property(
        fc.array(operation, { maxLength: 25 }),
        asked,
        fc.constantFrom(0, 30, 100),
        (operations, amount, backups) => {
          const book = openRouterBook();
          for (const each of operations) playOperation(book, each);
          const oracle = askOracle(book, amount, backups);
          expect(show(ask(book, amount, backups))).toEqual(oracle.quote);
          expect(levelsOf(book).map(({ amountIn, amountOut, count }) => [amountIn, amountOut, count])).toEqual(
            oracle.levels,
          );
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
