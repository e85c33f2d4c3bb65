import { expect, test } from '@jest/globals';
import { createSlices } from './yield-slices.js';

test('the event loop serves other work between the slices of several long requests', async () => {
  const nextSlice = createSlices();
  let others = 0;
  const timer = setInterval(() => {
    others += 1;
  }, 1);
  const work = async () => {
    for (let n = 0; n < 10; n += 1) {
      await nextSlice();
      const until = performance.now() + 5;
      while (performance.now() < until);
    }
  };
  await Promise.all([work(), work()]);
  clearInterval(timer);
  expect(others).toBeGreaterThan(10);
});
