import { describe, expect, test } from '@jest/globals';
import { RemovedHashes } from './remember-removed.js';

const hash = (n: number) => new Uint32Array([n, 1, 2, 3, 4, 5, 6, 7]);

describe('the hashes of removed orders', () => {
  test('are all known up to the bound; beyond it the oldest are forgotten, and it says so', () => {
    const removed = new RemovedHashes(100);
    for (let n = 0; n < 100; n += 1) removed.add(hash(n));
    removed.add(hash(50));
    expect({ size: removed.size, mayHaveForgotten: removed.mayHaveForgotten }).toEqual({
      size: 100,
      mayHaveForgotten: false,
    });
    for (let n = 100; n < 1130; n += 1) removed.add(hash(n));
    expect({ size: removed.size, mayHaveForgotten: removed.mayHaveForgotten }).toEqual({
      size: 100,
      mayHaveForgotten: true,
    });
    for (let n = 0; n < 1130; n += 1) expect(removed.has(hash(n))).toBe(n >= 1030);
  });

  test('are incomplete where orders were removed of which nothing is known', () => {
    const removed = new RemovedHashes(2);
    removed.noteUnknown();
    expect(removed.mayHaveForgotten).toBe(true);
  });
});
