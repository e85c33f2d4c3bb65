import { expect, test } from '@jest/globals';
import { boundUnplaced } from './bound-unplaced.js';

const [maker, other] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`] as const;
const budget = { ratePerSecond: 2, burst: 3 };

test('a process takes only as many hashes of a maker as its budget holds and may be remembered', () => {
  const clock = { nowMs: 1_000 };
  const bound = boundUnplaced({ monotonicMs: () => clock.nowMs });
  const take = (count: number, of: typeof maker | typeof other = maker) => bound.take(of, count, budget, 6);
  expect(take(4)).toMatchObject({ code: 'too_many_orders', detail: expect.stringContaining('holds 3 when full') });
  expect(take(2)).toBeUndefined();
  expect(take(3)).toMatchObject({ code: 'rate_limited', retryAfterMs: 1_000 });
  expect(take(3, other)).toBeUndefined();
  clock.nowMs += 1_000;
  expect(take(3)).toBeUndefined();
  clock.nowMs += 60_000;
  expect(take(2)).toMatchObject({ code: 'too_many_orders', detail: expect.stringContaining('limit is 6') });
  expect(take(1)).toBeUndefined();
  bound.forget(maker);
  expect(take(3)).toBeUndefined();
});
