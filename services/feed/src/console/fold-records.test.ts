import { expect, test } from '@jest/globals';
import { clockRecord, entryRecord, hashOf, tombstone } from '@makerbook/book/testing';
import type { BookEntry } from '@makerbook/contracts-events';
import { FoldedBook } from './browser/fold-records.js';
import { depthOf, keyOf, listMarkets, listOffers, offerOf } from './browser/list-markets.js';
import { Tokens } from './browser/tell-amounts.js';

const [usd, eth] = [`0x${'d0'.repeat(20)}`, `0x${'e0'.repeat(20)}`] as const;
const [alice, bob] = [`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`] as const;
const tokens = new Tokens();
tokens.learn([
  ['USD', '2', usd],
  ['ETH', '4', eth],
]);
const hex = (amount: number) => `0x${amount.toString(16)}` as const;
const when = { nowSeconds: 103, staleSecondsMax: 5 };
const shown = (book: FoldedBook, at = when) => ({ book, tokens, when: () => at });
const market = { base: eth, quote: usd };

/** An order that sells or buys whole ETH for USD at a price. */
function order(hash: string, maker: typeof alice | typeof bob, what: string, units: number, price: number, more = {}) {
  const [inEth, inUsd] = [
    { token: eth, amount: hex(units * 1e4) },
    { token: usd, amount: hex(units * price * 1e2) },
  ];
  const [making, taking] = what === 'sells' ? [inEth, inUsd] : [inUsd, inEth];
  const partition = maker === alice ? 0 : 1;
  const template = JSON.parse(String(entryRecord(hashOf(hash), { offset: 1 }).value)).order;
  return (offset: number, state: object = {}) =>
    entryRecord(hashOf(hash), { offset, partition }, {
      order: { ...template, making, taking, maker, permittedTaker: hex(0).padEnd(42, '0') as `0x${string}` },
      status: 'ACTIVE',
      remainingMakingAmount: making.amount,
      funding: { balance: hex(1e9), allowance: hex(1e9), block: offset },
      routableUntil: 1e6,
      causes: ['OBSERVED'],
      ...more,
      ...state,
    } as Partial<BookEntry>);
}

/** Two makers in two partitions, both with current clocks. */
function open() {
  const book = new FoldedBook();
  const orders = {
    near: order('01', alice, 'sells', 2, 3_000),
    far: order('02', bob, 'sells', 1, 3_100),
    bid: order('03', bob, 'buys', 3, 2_900),
  };
  for (const [n, one] of [orders.near, orders.far, orders.bid].entries()) book.apply(one(n + 1), 0);
  for (const partition of [0, 1]) book.apply(clockRecord(100, { offset: 9, partition }, 100), 0);
  return { book, orders };
}

test('a pair has its best bid and ask, in the token with fewer decimals', () => {
  const { book } = open();
  const expected = { ...market, key: keyOf(market), orders: 3, stale: 0, makers: 2, bid: 2_900, ask: 3_000 };
  expect(listMarkets(shown(book))).toEqual([expected]);
});

test('the depth adds up amounts from the best price on, within what each maker holds', () => {
  const { book, orders } = open();
  expect(depthOf(shown(book), market)).toEqual({
    asks: [
      { price: 3_000, size: 2, amount: 2 },
      { price: 3_100, size: 1, amount: 3 },
    ],
    bids: [{ price: 2_900, size: 3, amount: 3 }],
  });
  book.apply(orders.near(20, { funding: { balance: hex(5e3), allowance: hex(1e9), block: 20 } }), 0);
  expect(depthOf(shown(book), market).asks).toEqual([
    { price: 3_000, size: 0.5, amount: 0.5 },
    { price: 3_100, size: 1, amount: 1.5 },
  ]);
});

test('the highest bid and the lowest ask come first', () => {
  const { book } = open();
  book.apply(order('04', alice, 'buys', 1, 2_950)(50), 0);
  book.apply(order('05', alice, 'buys', 1, 2_850)(51), 0);
  const prices = listOffers(shown(book), keyOf(market)).map((entry) => offerOf(entry, tokens).price);
  expect(prices).toEqual([3_000, 3_100, 2_950, 2_900, 2_850]);
  const { bids, asks } = depthOf(shown(book), market);
  expect([asks, bids].map((side) => side.map(({ price }) => price))).toEqual([
    [3_000, 3_100],
    [2_950, 2_900, 2_850],
  ]);
  expect(listMarkets(shown(book))).toMatchObject([{ bid: 2_950, ask: 3_000 }]);
});

test('a partition without a clock for 5 s is left out of the depth, and its orders are stale', () => {
  const { book } = open();
  book.apply(clockRecord(104, { offset: 30, partition: 0 }, 104), 0);
  const later = { ...when, nowSeconds: 106 };
  expect(listMarkets(shown(book, later))).toMatchObject([{ orders: 3, stale: 2, bid: undefined, ask: 3_000 }]);
  const stale = listOffers(shown(book), keyOf(market)).map((entry) => book.isStale(entry, later));
  expect(stale).toEqual([false, true, true]);
  expect(depthOf(shown(book, later), market)).toEqual({ bids: [], asks: [{ price: 3_000, size: 2, amount: 2 }] });
});

test('a fill shrinks the share that is left, and a tombstone removes the order', () => {
  const { book, orders } = open();
  book.apply(orders.near(40, { remainingMakingAmount: hex(5e3), causes: ['FILLED'] }), 7_000);
  const entry = book.entries.get(hashOf('01'));
  expect(entry && offerOf(entry, tokens)).toMatchObject({ isAsk: true, price: 3_000, share: 0.25 });
  book.apply(tombstone(hashOf('01'), 'CANCELLED', { offset: 41, partition: 0 }), 8_000);
  expect(listMarkets(shown(book))).toMatchObject([{ orders: 2, ask: 3_100 }]);
});

test('the first record of each fact gets a time, once the snapshot is read', () => {
  const { book, orders } = open();
  book.isLive = true;
  book.apply(orders.near(40, { remainingMakingAmount: hex(5e3), causes: ['FILLED'] }), 7_000);
  book.apply(orders.near(40), 7_500);
  expect([...book.seenMs]).toEqual([['0:40', 7_000]]);
});
