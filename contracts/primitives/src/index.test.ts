import { expect, test } from '@jest/globals';
import { type MonotonicMs, monotonicMs, quantity, unixMs } from './index.js';

test.each([
  [0n, '0x0'],
  [31n, '0x1f'],
  [2n ** 256n - 1n, `0x${'f'.repeat(64)}`],
])('the quantity of %s is %s', (value, hex) => {
  expect(quantity(value)).toBe(hex);
});

test('a negative number is not a quantity', () => {
  expect(() => quantity(-1n)).toThrow(RangeError);
});

test('a text is not a quantity, even if it is all digits', () => {
  expect(() => quantity('1000000' as never)).toThrow(TypeError);
});

test('the build does not let a time of one clock pass for a time of the other', () => {
  const isPast = (at: MonotonicMs) => at <= monotonicMs();
  expect(isPast(monotonicMs())).toBe(true);
  // @ts-expect-error: milliseconds since 1970
  expect(isPast(unixMs())).toBe(false);
});
