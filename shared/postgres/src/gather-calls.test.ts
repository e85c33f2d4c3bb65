import { expect, test } from '@jest/globals';
import { gatherCalls } from './gather-calls.js';

test('a statement takes all items that come before it may begin, and no statement runs empty', async () => {
  const statements: (readonly number[])[] = [];
  const begins: (() => void)[] = [];
  const call = gatherCalls<number, number>({
    atOnceMax: 2,
    begin: () => new Promise((resolve) => begins.push(resolve)),
    decide: async (items) => {
      statements.push(items);
      return items.map((item) => 2 * item);
    },
  });
  const first = [call(1), call(2)];
  const late = call(3);
  for (const begin of begins.splice(0)) begin();
  expect(await Promise.all([...first, late])).toEqual([2, 4, 6]);
  expect(statements).toEqual([[1, 2, 3]]);
});

test('a statement takes the first item, and then the smallest others that fit and may join it', async () => {
  const statements: (readonly number[])[] = [];
  const call = gatherCalls<number, number>({
    atOnceMax: 1,
    itemsMax: 3,
    sizeOf: (item) => item,
    sizeMax: 10,
    mayJoin: (item, first) => item % 2 === first % 2,
    decide: async (items) => {
      statements.push(items);
      return items;
    },
  });
  await Promise.all([20, 8, 2, 4, 1, 3, 5].map(call));
  expect(statements).toEqual([[20], [8], [2], [4], [1, 3, 5]]);
});
