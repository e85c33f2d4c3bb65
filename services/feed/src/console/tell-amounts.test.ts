import { expect, test } from '@jest/globals';
import { alignTo, parseUnits, Tokens, tellPrice, tellSeconds, tellTime } from './browser/tell-amounts.js';

test.each([
  [0n, 6, '0'],
  [1_234_500_000n, 6, '1,234.5'],
  [1n, 18, '0.000000000000000001'],
  [1_000_000_000_000_000_001n, 18, '1'],
  [42n, 0, '42'],
])('%s with %s decimals is shown as %s', (amount, decimals, told) => {
  const tokens = new Tokens();
  tokens.learn([['T', String(decimals), '0x1']]);
  expect(tokens.tell(amount, '0x1')).toBe(`${told} T`);
});

test.each([
  ['1.5', 6, 1_500_000n],
  ['1,000', 2, 100_000n],
  ['0', 6, undefined],
  ['1.2345678', 6, undefined],
  ['-1', 6, undefined],
  ['1e3', 6, undefined],
])('the text %s with %s decimals is read as %s', (text, decimals, amount) => {
  expect(parseUnits(text, decimals)).toBe(amount);
});

test('prices have six significant digits, and unknown tokens are named by their address', () => {
  expect([3_000, 0.151, 60_123.4].map(tellPrice)).toEqual(['3,000.00', '0.151000', '60,123.4']);
  expect([6e14, 1.5e-9].map(tellPrice)).toEqual(['600,000,000,000,000', '0.00000000150000']);
  expect(new Tokens().tell(5n, `0x${'ab'.repeat(20)}`)).toBe('5 0xabab…abab');
  expect([undefined, 0.0123, 4.26, 250].map(tellSeconds)).toEqual(['–', '12 ms', '4.3 s', '250.0 s']);
});

test('all numbers of a column have as many decimals as the greatest', () => {
  expect([1.7, 0.24, 11.2].map(alignTo(11.2))).toEqual(['1.7000', '0.2400', '11.2000']);
  expect(alignTo(25_000)(7)).toBe('7.0');
  expect(alignTo(0)(0)).toBe('0.00000');
});

test('a time beyond the calendar is shown as never', () => {
  const seconds = [1_700_000_000, Number(2n ** 256n - 1n), Number.MAX_SAFE_INTEGER];
  expect(seconds.map((time) => tellTime(1000 * time))).toEqual(['2023-11-14 22:13:20', 'never', 'never']);
});
