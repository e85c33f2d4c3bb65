import { expect, test } from '@jest/globals';
import { createFairQueue } from './fair-queue.js';

test('clients get time slices in rotation, whatever their order of arrival and amount of work', async () => {
  const fairQueue = createFairQueue();
  const order: string[] = [];
  const work = async (client: string, count: number) => {
    for (let n = 0; n < count; n += 1) {
      await fairQueue.enter(client);
      order.push(client);
    }
  };
  await Promise.all([work('a', 3), work('a', 3), work('b', 2), work('c', 1)]);
  expect(order.slice(0, 5).sort()).toEqual(['a', 'a', 'b', 'b', 'c']);
  expect(order.slice(5)).toEqual(['a', 'a', 'a', 'a']);
});

test('the event loop serves other work between time slices', async () => {
  const fairQueue = createFairQueue();
  let others = 0;
  const timer = setInterval(() => {
    others += 1;
  }, 1);
  for (let n = 0; n < 20; n += 1) {
    await fairQueue.enter('a');
    const until = performance.now() + 5;
    while (performance.now() < until);
  }
  clearInterval(timer);
  expect(others).toBeGreaterThan(5);
});
