import { expect, test } from '@jest/globals';
import { beginAtPace } from './generate-load.js';

test('begins at its pace though nothing ends, and stops when all has ended', async () => {
  const ends: (() => void)[] = [];
  let third: () => void = () => undefined;
  const begunThree = new Promise<void>((resolve) => {
    third = resolve;
  });
  const pace = beginAtPace(200, () => {
    if (ends.length === 2) third();
    return new Promise((resolve) => ends.push(resolve));
  });
  await begunThree;
  let hasStopped = false;
  const stopping = pace.stop().then(() => {
    hasStopped = true;
  });
  const [last, ...others] = ends;
  for (const end of others) end();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(hasStopped).toBe(false);
  for (const end of ends) end();
  last?.();
  await stopping;
});

test('goes on after a failure, and throws it in the end', async () => {
  let count = 0;
  let third: () => void = () => undefined;
  const begunThree = new Promise<void>((resolve) => {
    third = resolve;
  });
  const pace = beginAtPace(200, async () => {
    count += 1;
    if (count === 3) third();
    throw new Error(`failure ${count}`);
  });
  await begunThree;
  await expect(pace.stop()).rejects.toThrow('failure 1');
});
