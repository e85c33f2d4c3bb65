import { afterEach, describe, expect, test } from '@jest/globals';
import { simulateChain } from './testing/simulate-chain.js';
import { Stage } from './testing/stage-chain.js';

let stage: Stage | undefined;
afterEach(async () => {
  await stage?.close();
});

describe('whatever happens on the chain', () => {
  test.each([1, 2, 3])(
    'the log says of every order what the chain says, seed %s',
    async (seed) => {
      stage = await Stage.open();
      const tally = await simulateChain(stage, { seed, rounds: 12, makers: 4, actionsMax: 12 });
      expect(tally['comparedRounds']).toBe(12);
      expect(tally['post']).toBeGreaterThan(10);
    },
    240_000,
  );
});
