import { describe, expect, test } from '@jest/globals';
import { rateHeaders, retryAfter } from './rate-headers.js';

describe('the headers of a budget', () => {
  const budget = { ratePerSecond: 100, burst: 1000 };

  test('hold what is left, when the budget is full again, and its policy', () => {
    const headers = rateHeaders('orders', budget, ['0xa'], [250]);
    expect(headers['RateLimit']).toBe('"orders"; r=250; t=8');
    expect(headers['RateLimit-Policy']).toMatch(/^"orders"; q=1000; w=10; pk=:[A-Za-z0-9+/]{12}:$/);
  });

  test('are those of the maker who has the least left', () => {
    const one = rateHeaders('orders', budget, ['0xb'], [7]);
    expect(rateHeaders('orders', budget, ['0xa', '0xb', '0xc'], [8, 7, 1000])).toEqual(one);
  });

  test('Retry-After is a whole second, rounded up, at least one', () => {
    expect([0, 1, 1000, 1001].map((ms) => retryAfter(ms)['Retry-After'])).toEqual(['1', '1', '1', '2']);
  });
});
