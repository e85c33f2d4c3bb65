import { expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { unknownMaker } from '@makerbook/domain';
import { makersOf } from '../testing/generate-facts.js';
import { DueMakers } from './due-makers.js';

const [a, b, c] = makersOf(0, 1, 3) as [Hex, Hex, Hex];

test('due makers come by address, in groups with a bounded number of orders; a large one comes alone', () => {
  const due = new DueMakers([
    { maker: c, dueAtSeconds: 10, openOrders: 3 },
    { maker: a, dueAtSeconds: 12, openOrders: 7 },
    { maker: b, dueAtSeconds: 10, openOrders: 1 },
  ]);
  expect(due.groupsAt(9, 4)).toEqual([]);
  expect(due.groupsAt(10, 4)).toEqual([[b, c]]);
  expect(due.groupsAt(12, 4)).toEqual([[a], [b, c]]);
});

test('a maker is due at the time last set, and not at all once nothing of it is due', () => {
  const due = new DueMakers([{ maker: a, dueAtSeconds: 10, openOrders: 1 }]);
  expect(due.groupsAt(10, 4)).toEqual([[a]]);
  expect(due.ordersOf(a)).toBe(1);
  due.set({ ...unknownMaker(a), dueAtSeconds: 20 });
  expect(due.ordersOf(a)).toBe(0);
  expect(due.groupsAt(19, 4)).toEqual([]);
  expect(due.groupsAt(20, 4)).toEqual([[a]]);
  due.set(unknownMaker(a));
  expect(due.groupsAt(1_000, 4)).toEqual([]);
});
