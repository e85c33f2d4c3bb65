import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import fc from 'fast-check';
import { type Asked, ladder, type Quote, type QuoteOptions, quote } from './quote-orders.js';
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

function ask({ orders }: ReturnType<typeof bookOf>, asked: Asked, options: Partial<QuoteOptions> = {}): Quote {
  return quote(orders, pair, asked, { ...when, ...options });
}

const name = (hash: string) => hash.slice(2, 4);
const show = ({ fills, spares, amountIn, amountOut, passedOver }: Quote) => ({
  fills: fills.map((fill) => [name(fill.entry.orderHash), fill.makingAmount, fill.takingAmount]),
  spares: spares.map((spare) => [name(spare.entry.orderHash), spare.makingAmount]),
  amountIn,
  amountOut,
  passedOver,
});

test('the ladder uses up shared funds level by level, for each maker and token', () => {
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

  test('states how much of its last order can be filled, its gas, and the block for which it holds', () => {
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

test('four hundred dust orders at the best price do not worsen a quote, with or without a gas price', () => {
  const honest = Array.from({ length: 10 }, (_, n) => [`f${n}`, { making: 10_000, taking: 20_000 + n, maker: 'd' }]);
  const dust = Array.from({ length: 400 }, (_, n) => [n.toString(16).padStart(32, '0'), { making: 9, taking: 9 }]);
  const alone = bookOf(Object.fromEntries(honest));
  const book = bookOf(Object.fromEntries(honest));
  for (const [given, order] of dust) book.putEntry(entryOf(`0x${given}${given}` as Hex, order as Given));
  const asked = { amountIn: 200_000n };
  const amountOut = ask(alone, asked).amountOut;
  expect(amountOut).toBeGreaterThan(99_000n);
  expect(ask(book, asked)).toMatchObject({ amountOut, passedOver: 400, gas: 100 });
  for (const amountOutPerMillionGas of [0n, 10n ** 6n])
    expect(ask(book, asked, { amountOutPerMillionGas }).amountOut).toBeGreaterThanOrEqual(amountOut);
  // If everything is wanted, dust only fills the places that are left of the 200 orders.
  const all = ask(book, { amountOut: 10n ** 9n });
  expect(all).toMatchObject({ amountOut: 100_000n + 190n * 9n, passedOver: 210 });
});

test('vectors.json is what `npm run generate -w @makerbook/book` writes', () => {
  expect(JSON.parse(readFileSync(new URL('../vectors.json', import.meta.url), 'utf8'))).toEqual(makeVectors());
});

describe('whatever happens to the book', () => {
  const small = fc.bigInt({ min: 1n, max: 30n });
  /** Orders of 1 are dust next to the large ones. */
  const any = fc.oneof(small, fc.bigInt({ min: 500n, max: 2_000n }));
  const operation: fc.Arbitrary<Operation> = fc.record({
    name: fc.constantFrom('01', '02', '03', '04', '05', '06'),
    // Make most operations put an order.
    what: fc.constantFrom('put' as const, 'put' as const, 'put' as const, 'FILLED' as const, 'CANCELLED' as const),
    given: fc.record({
      making: any,
      taking: small,
      remaining: any,
      maker: fc.constantFrom('c', 'd'),
      funds: fc.oneof(fc.bigInt({ min: 0n, max: 40n }), fc.constant(5_000n)),
      allowance: fc.oneof(fc.bigInt({ min: 0n, max: 40n }), fc.constant(5_000n)),
      block: fc.integer({ min: 1, max: 5 }),
      acceptedAtMs: fc.integer({ min: 0, max: 2 }),
      status: fc.constantFrom('ACTIVE' as const, 'ACTIVE' as const, 'ACTIVE' as const, 'INACTIVE' as const),
      routableUntil: fc.constantFrom(1_000, 1_001),
    }),
  });
  const asked: fc.Arbitrary<Asked> = fc.oneof(fc.record({ amountIn: any }), fc.record({ amountOut: any }));
  const options = fc.record({
    backups: fc.constantFrom(0, 30, 100),
    ordersMax: fc.constantFrom(1, 2, 3, 200),
    gasFloor: fc.constantFrom(undefined, undefined, 3n),
  });

  test('ladder and quote are those that an oracle finds by trying all sorted records one by one', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 25 }), asked, options, (operations, amount, given) => {
        const book = openRouterBook();
        for (const each of operations) playOperation(book, each);
        const oracle = askOracle(book, amount, given);
        const { gasFloor, ...limits } = given;
        // Each order takes ten gas.
        const gas = gasFloor === undefined ? {} : { amountOutPerMillionGas: gasFloor * 100_000n };
        expect(show(ask(book, amount, { ...limits, ...gas }))).toEqual(oracle.quote);
        expect(levelsOf(book).map(({ amountIn, amountOut, count }) => [amountIn, amountOut, count])).toEqual(
          oracle.levels,
        );
      }),
      { numRuns: 1_000 },
    );
  });
});
