import { expect, test } from '@jest/globals';
import { gatherCalls } from './gather-calls.js';

test('a statement takes what comes until it may begin, and none is without items', async () => {
  const statements: (readonly number[])[] = [];
  const begins: (() => void)[] = [];
  const call = gatherCalls<number, number>({
    atOnceMax: 2,
    count: (waiting) => waiting.length,
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
