import { describe, expect, test } from '@jest/globals';
import type { OrderChange } from '@makerbook/redis';
import { holdChanges, lostChanges, withHeldChanges } from './hold-cache-changes.js';

const removed = (number: number): OrderChange => ({
  kind: 'removed',
  maker: '0x1',
  orderHash: `0x${number.toString(16)}`,
  expiresAtSeconds: 1,
});
const batch = { partition: 3, prevPos: 12n, newPos: 13n, changes: [removed(3)] };

describe('what Redis is told of a block in slices', () => {
  test('comes with the last slice, from where Redis was left before the first', () => {
    const held = holdChanges(holdChanges(undefined, 10n, [removed(1)]), 12n, [removed(2)]);
    expect(withHeldChanges(held, batch)).toEqual({
      ...batch,
      prevPos: 10n,
      changes: [removed(1), removed(2), removed(3)],
    });
    expect(withHeldChanges(undefined, batch)).toEqual(batch);
  });

  test('names a position where Redis cannot stand, so that it forgets the partition, where changes were lost', () => {
    const many = Array.from({ length: 60_000 }, (_, number) => removed(number));
    const tooMany = holdChanges(holdChanges(undefined, 10n, many), 10n, many);
    for (const held of [lostChanges, holdChanges(lostChanges, 10n, [removed(1)]), tooMany]) {
      const { prevPos, changes } = withHeldChanges(held, batch);
      expect(prevPos).toBeLessThan(0n);
      expect(changes).toEqual([removed(3)]);
    }
  });
});
