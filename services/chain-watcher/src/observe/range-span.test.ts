import { expect, test } from '@jest/globals';
import { RangeSpan } from './range-span.js';

/** Asks a node that gives at most `limit` blocks for this many ranges. */
const ask = (span: RangeSpan, ranges: number, limit: number, isRefused = false): number[] => {
  const asked: number[] = [];
  for (let n = 0; n < ranges; n += 1) {
    asked.push(span.blocks);
    if (span.blocks > limit) span.failed(span.blocks, isRefused);
    else span.gave();
  }
  return asked;
};

test('a node that is too slow for many blocks is asked for fewer, and only now and then for more', () => {
  const span = new RangeSpan();
  expect(ask(span, 9, 200)).toEqual([5000, 2500, 1250, 625, 313, 157, 314, 157, 167]);
  const asked = ask(span, 200, 200);
  expect(asked.filter((blocks) => blocks > 200).length).toBeLessThan(200 / 10);
  expect(Math.min(...asked)).toBeGreaterThan(100);
});

test('after a node has refused too many blocks, the range grows only slowly', () => {
  expect(ask(new RangeSpan(), 8, 200, true)).toEqual([5000, 2500, 1250, 625, 313, 157, 167, 178]);
});

test('after an outage the range soon has its old length again', () => {
  const span = new RangeSpan();
  ask(span, 10, 5000);
  ask(span, 30, 0);
  expect(span.blocks).toBe(1);
  expect(ask(span, 14, 5000).at(-1)).toBe(5000);
  // The span doubles until a range is too large.
  ask(span, 30, 0);
  expect(Math.max(...ask(span, 8, 200))).toBe(128);
});
