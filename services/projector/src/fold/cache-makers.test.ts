import { describe, expect, test } from '@jest/globals';
import { type Maker, MakerDraft, type OpenOrder, unknownMaker } from '@makerbook/domain';
import { makersOf } from '../testing/generate-facts.js';
import { CachedMakers } from './cache-makers.js';

const [first, second, third] = makersOf(0, 1, 3) as [Maker['maker'], Maker['maker'], Maker['maker']];
const rules = { routingGraceSeconds: 60, recallHash: () => undefined };
const withOrders = (maker: Maker['maker'], count: number): Maker => ({
  ...unknownMaker(maker),
  dueAtSeconds: 100,
  orders: new Map(Array.from({ length: count }, (_, index) => [`0x${index}` as const, {} as OpenOrder])),
});

describe('makers in memory', () => {
  test('are dropped if there are too many, those used longest ago first', () => {
    const held = new CachedMakers(8, rules);
    const one = held.load(withOrders(first, 2));
    held.load(withOrders(second, 2));
    held.load(withOrders(third, 2));
    held.touch(one);
    expect(held.evict(0, () => false)).toBe(true);
    expect([first, second, third].map((maker) => held.get(maker) !== undefined)).toEqual([true, false, true]);
    expect(held.size()).toBe(6);
  });

  test('that must be kept are not dropped: room is made among the others, if possible', () => {
    const held = new CachedMakers(8, rules);
    for (const maker of [first, second]) held.load(withOrders(maker, 2));
    const isKept = (maker: Maker['maker']) => maker === first;
    expect(held.evict(2, isKept)).toBe(true);
    expect(held.size()).toBe(6);
    expect(held.evict(6, isKept)).toBe(false);
    expect([first, second].map((maker) => held.get(maker) !== undefined)).toEqual([true, false]);
  });

  test('count with the orders that they have now', () => {
    const held = new CachedMakers(100, rules);
    const one = held.load(withOrders(first, 9));
    one.draft = new MakerDraft(withOrders(first, 1), rules);
    held.touch(one);
    expect(held.size()).toBe(2);
    held.forget(first);
    expect(held.size()).toBe(0);
  });
});
