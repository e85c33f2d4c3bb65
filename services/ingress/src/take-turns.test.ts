import { expect, test } from '@jest/globals';
import { createTurns } from './take-turns.js';

test('clients take turns, whoever came first and however much one of them wants', async () => {
  const turns = createTurns();
  const order: string[] = [];
  const work = async (client: string, count: number) => {
    for (let n = 0; n < count; n += 1) {
      await turns.take(client);
      order.push(client);
    }
  };
  await Promise.all([work('a', 3), work('a', 3), work('b', 2), work('c', 1)]);
  expect(order.slice(0, 5).sort()).toEqual(['a', 'a', 'b', 'b', 'c']);
  expect(order.slice(5)).toEqual(['a', 'a', 'a', 'a']);
});

test('a turn leaves time for other work in between', async () => {
  const turns = createTurns();
  let others = 0;
  const timer = setInterval(() => {
    others += 1;
  }, 1);
  for (let n = 0; n < 20; n += 1) {
    await turns.take('a');
    const until = performance.now() + 5;
    while (performance.now() < until);
  }
  clearInterval(timer);
  expect(others).toBeGreaterThan(5);
});
