import { expect, test } from '@jest/globals';
import { idleSeeds, missingKinds } from './count-kinds.js';

test('seeds that compared nothing, or too little, are named', () => {
  const report = (seed: number, blocks: number, blocksCompared: number) => ({ seed, blocks, blocksCompared });
  expect(idleSeeds([report(1, 10, 9), report(2, 10, 2)])).toEqual([]);
  expect(idleSeeds([report(1, 10, 10), report(2, 10, 0)])).toEqual([
    'seed 2 compared no block',
    'of 20 blocks 10 were compared',
  ]);
});

test('a kind of action that no seed did is named, and a state in which none found an order', () => {
  const tally = { mint: 1, withdraw: 0 };
  const missing = missingKinds([
    { tally, states: {} },
    { tally: {}, states: { ACTIVE: 2 } },
  ]);
  expect(missing).toEqual(expect.arrayContaining(['withdraw', 'SIGKILL watcher', 'the spare node lags', 'FILLED']));
  expect(missing).not.toEqual(expect.arrayContaining(['mint']));
  expect(missing).not.toEqual(expect.arrayContaining(['ACTIVE']));
});
