import { describe, expect, test } from '@jest/globals';
import { holdLists } from './hold-lists.js';
import { joinRecords } from './join-records.js';

const listOf = (bytes = 10, version = 1n) =>
  joinRecords(version, [{ orderHash: '0x01', acceptedOffset: 0, expiresAtSeconds: 100, json: Buffer.alloc(bytes) }]);

describe('a list held in memory', () => {
  test('is found by its maker, and replaced by the next one, but by no older one', () => {
    const held = holdLists(10_000);
    expect(held.find('a')).toBeUndefined();
    held.keep('a', listOf());
    const newer = listOf(20, 2n);
    held.keep('a', newer);
    held.keep('a', listOf(10, 1n));
    expect(held.find('a')).toBe(newer);
    expect(held.find('b')).toBeUndefined();
  });

  test('makes room when it was not used for longest', () => {
    const held = holdLists(3 * (1_503 + 750));
    for (const maker of ['a', 'b', 'c']) held.keep(maker, listOf(1000));
    held.find('a');
    held.keep('d', listOf(1000));
    expect(['a', 'b', 'c', 'd'].filter((maker) => held.find(maker) !== undefined)).toEqual(['a', 'c', 'd']);
  });

  test('never takes more than its room, and one that is larger is not held at all', () => {
    const held = holdLists(4_400);
    held.keep('a', listOf(1000));
    held.keep('b', listOf(1_000_000));
    expect(held.find('b')).toBeUndefined();
    expect(held.find('a')).toBeDefined();
    // Room is given back whenever a list is replaced.
    for (let round = 0; round < 100; round += 1) held.keep('c', listOf(500 + round));
    expect(held.find('a')).toBeDefined();
  });
});
