import { expect, test } from '@jest/globals';
import { RangeSpan } from './range-span.js';

/** Asks for so many ranges of a node that gives at most `limit` blocks. */
const ask = (span: RangeSpan, ranges: number, limit: number, isRefused = false): number[] => {
  const asked: number[] = [];
  for (let n = 0; n < ranges; n += 1) {
    asked.push(span.blocks);
    if (span.blocks > limit) span.failed(span.blocks, isRefused);
    else span.gave();
  }
  return asked;
};

test('a node that has no time for many blocks is found out about once, and tried again now and then', () => {
  const span = new RangeSpan();
  expect(ask(span, 9, 200)).toEqual([5000, 2500, 1250, 625, 313, 157, 314, 157, 167]);
  const asked = ask(span, 200, 200);
  expect(asked.filter((blocks) => blocks > 200).length).toBeLessThan(200 / 10);
  expect(Math.min(...asked)).toBeGreaterThan(100);
});

test('a node that refuses too many blocks is not asked for more right away', () => {
  expect(ask(new RangeSpan(), 8, 200, true)).toEqual([5000, 2500, 1250, 625, 313, 157, 167, 178]);
});

test('after an outage it is soon what it was', () => {
  const span = new RangeSpan();
  ask(span, 10, 5000);
  ask(span, 30, 0);
  expect(span.blocks).toBe(1);
  expect(ask(span, 14, 5000).at(-1)).toBe(5000);
  // The span doubles up to the number of blocks that is too many.
  ask(span, 30, 0);
  expect(Math.max(...ask(span, 8, 200))).toBe(128);
});
