import { expect, test } from '@jest/globals';
import { RangeSpan } from './range-span.js';

/** Asks for so many ranges of a node that gives at most `limit` blocks. */
const ask = (span: RangeSpan, ranges: number, limit: number): number[] => {
  const asked: number[] = [];
  for (let n = 0; n < ranges; n += 1) {
    asked.push(span.blocks);
    if (span.blocks > limit) span.failed(span.blocks);
    else span.gave();
  }
  return asked;
};

test('a node that gives everything is asked for the most at once', () => {
  expect(ask(new RangeSpan(), 40, 5000)).toEqual(new Array(40).fill(5000));
});

test('a node that has no time for many blocks fails few ranges, and gives most of what it can', () => {
  const span = new RangeSpan();
  expect(ask(span, 7, 200)).toEqual([5000, 2500, 1250, 625, 313, 157, 167]);
  const asked = ask(span, 200, 200);
  expect(asked.filter((blocks) => blocks > 200).length).toBeLessThan(200 / 10);
  expect(Math.min(...asked)).toBeGreaterThan(100);
});

test('after an outage it grows again', () => {
  const span = new RangeSpan();
  ask(span, 30, 0);
  expect(span.blocks).toBe(1);
  expect(ask(span, 120, 5000).at(-1)).toBe(5000);
});
