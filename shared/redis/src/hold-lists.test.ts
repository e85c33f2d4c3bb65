import { describe, expect, test } from '@jest/globals';
import { type HeldList, holdLists } from './hold-lists.js';
import { joinRecords } from './list-entry.js';

const list = (maker: string, bytes = 10, overrides: Partial<HeldList> = {}): HeldList => ({
  maker,
  epoch: 'e',
  version: '@1',
  list: joinRecords([{ acceptedOffset: 0, record: Buffer.alloc(bytes) }]),
  sinceSeconds: 100,
  untilSeconds: 200,
  ...overrides,
});

describe('a list held in memory', () => {
  test('is found under its epoch, from the clock it was read at until one of its records expires', () => {
    const held = holdLists(10_000);
    const kept = list('a');
    for (const [epoch, nowSeconds, isFound] of [
      ['e', 100, true],
      ['e', 199, true],
      ['e', 200, false],
      ['e', 99, false],
      ['f', 150, false],
    ] as const) {
      held.keep(kept);
      expect(held.find('a', epoch, nowSeconds)).toBe(isFound ? kept : undefined);
    }
  });

  test('is replaced by a newer one of its maker', () => {
    const held = holdLists(10_000);
    held.keep(list('a'));
    const newer = list('a', 20, { version: '@2' });
    held.keep(newer);
    expect(held.find('a', 'e', 150)).toBe(newer);
  });

  test('makes room when it was not used for longest', () => {
    const held = holdLists(3 * (1_503 + 650));
    for (const maker of ['a', 'b', 'c']) held.keep(list(maker, 1000));
    expect(held.find('a', 'e', 150)).toBeDefined();
    held.keep(list('d', 1000));
    expect(['a', 'b', 'c', 'd'].map((maker) => held.find(maker, 'e', 150) !== undefined)).toEqual([
      true,
      false,
      true,
      true,
    ]);
  });

  test('never takes more than its room, and one that is larger is not held at all', () => {
    const held = holdLists(4_400);
    held.keep(list('a', 1000));
    held.keep(list('b', 1_000_000));
    expect(held.find('b', 'e', 150)).toBeUndefined();
    expect(held.find('a', 'e', 150)).toBeDefined();
    // Room is given back whenever a list goes.
    for (let round = 0; round < 100; round += 1) {
      held.keep(list('c', 1000));
      held.find('c', 'other', 150);
    }
    held.keep(list('c', 500));
    expect(held.find('a', 'e', 150)).toBeDefined();
  });
});
