import { expect, test } from '@jest/globals';
import { findGrowth } from './judge-memory.js';

const readings = (...rssMb: number[]) => rssMb.map((rss, n) => ({ atRequest: n * 1_000, rssMb: rss, heapMb: 50 }));

test.each([
  ['growth at the start', [100, 150, 190, 200, 200, 210, 200, 205, 200, 200, 210, 200], undefined],
  ['too few readings', [100, 200, 300, 400], undefined],
  ['growth that goes on', Array.from({ length: 20 }, (_, n) => 100 + 20 * n), 'from 240 MB to 440 MB'],
])('%s', (_name, rss, growth) => {
  expect(findGrowth(readings(...rss))).toBe(growth);
});
