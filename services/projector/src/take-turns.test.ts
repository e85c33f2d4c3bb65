import { describe, expect, test } from '@jest/globals';
import { createTurns } from './take-turns.js';

/** Asks for turns of these weights, in this order, and tells which were given. */
function ask(turns: ReturnType<typeof createTurns>, weights: number[]) {
  const given: number[] = [];
  const asked = weights.map(async (weight, index) => {
    const done = await turns.take(weight);
    given.push(index);
    return done;
  });
  return { given, finish: async (index: number) => (await asked[index])?.() };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('turns', () => {
  test('are given while there is room, in the order in which they were asked for', async () => {
    const turns = createTurns(10, 0);
    const { given, finish } = ask(turns, [4, 6, 5, 1]);
    await settle();
    // The last one would fit beside the second, and waits all the same: nobody is passed over for ever.
    expect(given).toEqual([0, 1]);
    await finish(1);
    await settle();
    expect(given).toEqual([0, 1, 2, 3]);
    expect(turns.underWay()).toBe(10);
    for (const index of [0, 2, 3]) await finish(index);
    expect(turns.underWay()).toBe(0);
  });

  test('are given alone to what is heavier than all there is', async () => {
    const { given, finish } = ask(createTurns(10, 0), [3, 50, 3]);
    await settle();
    expect(given).toEqual([0]);
    await finish(0);
    await settle();
    expect(given).toEqual([0, 1]);
    await finish(1);
    await settle();
    expect(given).toEqual([0, 1, 2]);
  });

  test('are not waited for by what is light', async () => {
    const { given } = ask(createTurns(10, 2), [10, 10, 2, 1]);
    await settle();
    expect(given).toEqual([2, 3, 0]);
  });
});
