import { expect, test } from '@jest/globals';
import { closeAll } from './close-all.js';

test('every step runs in order, even after one fails, and the first failure is thrown', async () => {
  const taken: string[] = [];
  const told: unknown[] = [];
  const step = (name: string, error?: Error) => async () => {
    taken.push(name);
    if (error !== undefined) throw error;
  };
  const [first, second] = [new Error('first'), new Error('second')];
  const steps = [step('a'), step('b', first), step('c', second), step('d')];
  const closing = closeAll(steps, (error) => told.push(error));
  // A step that is added meanwhile runs too.
  steps.push(step('e'));
  await expect(closing).rejects.toBe(first);
  expect({ taken, told }).toEqual({ taken: ['a', 'b', 'c', 'd', 'e'], told: [first, second] });
});
