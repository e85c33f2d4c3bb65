import { describe, expect, test } from '@jest/globals';
import { rateHeaders } from './rate-headers.js';

describe('the headers of a budget', () => {
  const budget = { ratePerSecond: 100, burst: 1000 };
  const small = { ratePerSecond: 1, burst: 10 };

  test('hold what is left, when the budget is full again, and its policy', () => {
    const headers = rateHeaders('orders', [{ maker: '0xa', budget }], [250]);
    expect(headers['RateLimit']).toBe('"orders"; r=250; t=8');
    expect(headers['RateLimit-Policy']).toMatch(/^"orders"; q=1000; w=10; pk=:[A-Za-z0-9+/]{12}:$/);
  });

  test('are those of the maker who has the least left', () => {
    const least = { maker: '0xb', budget: small };
    const makers = [{ maker: '0xa', budget }, least, { maker: '0xc', budget }];
    const headers = rateHeaders('orders', makers, [8, 7, 1000]);
    expect(headers).toEqual(rateHeaders('orders', [least], [7]));
    expect(headers['RateLimit-Policy']).toMatch(/^"orders"; q=10; w=10; /);
  });

  test('tell in Retry-After when a refused request can succeed, in whole seconds, rounded up, at least one', () => {
    const told = [0, 1, 1000, 1001].map((ms) => rateHeaders('orders', [{ maker: '0xa', budget }], [3], ms));
    expect(told.map((headers) => headers['Retry-After'])).toEqual(['1', '1', '1', '2']);
    expect(told.map((headers) => headers['RateLimit'])).toEqual([1, 1, 1, 2].map((t) => `"orders"; r=3; t=${t}`));
    expect(rateHeaders('orders', [{ maker: '0xa', budget }], [3])).not.toHaveProperty('Retry-After');
  });
});
