import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { takePage } from './take-page.js';

const listOf = (offsets: Iterable<number>) =>
  [...offsets].sort((a, b) => a - b).map((acceptedOffset) => ({ acceptedOffset }));

describe('pages', () => {
  test('without bounds are the whole list, and the very same array', () => {
    const list = listOf([1, 2, 3]);
    expect(takePage(list, { from: undefined, ordersMax: undefined })).toEqual({
      records: list,
      next: undefined,
    });
    expect(takePage(list, { from: undefined, ordersMax: 3 }).records).toBe(list);
  });

  test('hold each order that stays exactly once, whatever comes and goes between them', () => {
    const offsets = fc.uniqueArray(fc.nat(60), { maxLength: 40 });
    fc.assert(
      fc.property(
        offsets,
        fc.integer({ min: 1, max: 7 }),
        fc.array(fc.record({ goes: fc.nat(60), comes: fc.nat(3) })),
        (first, ordersMax, changes) => {
          const list = new Set(first);
          const stays = new Set(first);
          const seen: number[] = [];
          let from: bigint | undefined;
          for (let page = 0; page === 0 || from !== undefined; page += 1) {
            const taken = takePage(listOf(list), { from, ordersMax });
            expect(taken.records.length).toBeLessThanOrEqual(ordersMax);
            seen.push(...taken.records.map(({ acceptedOffset }) => acceptedOffset));
            from = taken.next;
            const change = changes[page];
            if (change === undefined) continue;
            list.delete(change.goes);
            stays.delete(change.goes);
            for (let n = 0; n < change.comes; n += 1) list.add(Math.max(60, ...list) + 1);
          }
          expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
          expect(seen).toEqual(expect.arrayContaining([...stays]));
        },
      ),
    );
  });
});
