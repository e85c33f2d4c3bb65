import { describe, expect, test } from '@jest/globals';
import { type Maker, type OpenOrder, unknownMaker } from '@makerbook/domain';
import { createMakerCache } from './load-makers.js';
import { makersOf } from './testing/generate-facts.js';

const [first, second, third] = makersOf(0, 1, 3) as [Maker['maker'], Maker['maker'], Maker['maker']];
const withOrders = (maker: Maker['maker'], count: number): Maker => ({
  ...unknownMaker(maker),
  orders: new Map(Array.from({ length: count }, (_, index) => [`0x${index}` as const, {} as OpenOrder])),
});

describe('makers in memory', () => {
  test('those that were used longest ago are forgotten where there are too many', () => {
    const cache = createMakerCache(8);
    cache.store([withOrders(first, 2), withOrders(second, 2)]);
    cache.store([withOrders(first, 2)]);
    cache.store([withOrders(third, 2)]);
    expect([first, second, third].map((maker) => cache.get(maker) !== undefined)).toEqual([true, false, true]);
    expect(cache.size()).toBe(6);
  });

  test('a maker counts with its orders as they are now', () => {
    const cache = createMakerCache(100);
    cache.store([withOrders(first, 9)]);
    cache.store([withOrders(first, 1)]);
    expect(cache.size()).toBe(2);
  });

  test('a cache of size 0 holds nothing', () => {
    const cache = createMakerCache(0);
    cache.store([unknownMaker(first)]);
    expect(cache.get(first)).toBeUndefined();
  });
});
