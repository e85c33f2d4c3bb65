import { describe, expect, test } from '@jest/globals';
import { cacheLists } from './cache-lists.js';
import { joinRecords } from './join-records.js';

const listOf = (bytes = 10, version = 1n) =>
  joinRecords(version, [{ orderHash: '0x01', acceptedOffset: 0, expiresAtSeconds: 100, json: Buffer.alloc(bytes) }]);

describe('a list cached in memory', () => {
  test('is found by its maker, and replaced by the next one, but by no older one', () => {
    const cache = cacheLists(10_000);
    expect(cache.find('a')).toBeUndefined();
    cache.keep('a', listOf());
    const newer = listOf(20, 2n);
    cache.keep('a', newer);
    cache.keep('a', listOf(10, 1n));
    expect(cache.find('a')).toBe(newer);
    expect(cache.find('b')).toBeUndefined();
  });

  test('makes room when it was not used for longest', () => {
    const cache = cacheLists(3 * (1_503 + 750));
    for (const maker of ['a', 'b', 'c']) cache.keep(maker, listOf(1000));
    cache.find('a');
    cache.keep('d', listOf(1000));
    expect(['a', 'b', 'c', 'd'].filter((maker) => cache.find(maker) !== undefined)).toEqual(['a', 'c', 'd']);
  });

  test('never takes more than its room, and one that is larger is not cached at all', () => {
    const cache = cacheLists(4_400);
    cache.keep('a', listOf(1000));
    cache.keep('b', listOf(1_000_000));
    expect(cache.find('b')).toBeUndefined();
    expect(cache.find('a')).toBeDefined();
    // Room is given back whenever a list is replaced.
    for (let round = 0; round < 100; round += 1) cache.keep('c', listOf(500 + round));
    expect(cache.find('a')).toBeDefined();
  });
});
