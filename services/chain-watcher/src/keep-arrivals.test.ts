import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Arrivals } from './keep-arrivals.js';

test('the orders from an offset on, newest first, though slots are used again and many are gone', () => {
  const step = fc.record({ gap: fc.integer({ min: 1, max: 5 }), slot: fc.nat(200), isGone: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), fc.nat(1000), (steps, from) => {
      const there = new Map<number, number>();
      const arrivals = new Arrivals((order, offset) => there.get(order) === offset);
      let offset = 0;
      for (const { gap, slot, isGone } of steps) {
        offset += gap;
        if (isGone) there.delete(slot);
        else {
          there.set(slot, offset);
          arrivals.push(slot, offset);
        }
      }
      const expected = [...there].filter(([, at]) => at >= from).sort(([, a], [, b]) => b - a);
      expect(arrivals.from(from)).toEqual(expected.map(([slot]) => slot));
    }),
  );
});
