import { expect, test } from '@jest/globals';
import { type MonotonicMs, monotonicMs, quantity, unixMs } from './index.js';

test.each([
  [0n, '0x0'],
  [31n, '0x1f'],
  [2n ** 256n - 1n, `0x${'f'.repeat(64)}`],
])('the quantity of %s is %s', (value, hex) => {
  expect(quantity(value)).toBe(hex);
});

test('a negative number is no quantity', () => {
  expect(() => quantity(-1n)).toThrow(RangeError);
});

test('a text is no quantity, whatever its digits', () => {
  expect(() => quantity('1000000' as never)).toThrow(TypeError);
});

test('a time of one clock is none of the other, and the build says so', () => {
  const isPast = (at: MonotonicMs) => at <= monotonicMs();
  expect(isPast(monotonicMs())).toBe(true);
  // @ts-expect-error: milliseconds since 1970
  expect(isPast(unixMs())).toBe(false);
});
