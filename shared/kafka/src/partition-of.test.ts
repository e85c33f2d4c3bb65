import { describe, expect, test } from '@jest/globals';
import { partitionOf } from './partition-of.js';

describe('the partition of a key', () => {
  // The hashes that Kafka's own test of its partitioner expects (UtilsTest.testMurmur2).
  test.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ])('is the one that the Java client chooses for %s', (key, hash) => {
    for (const partitions of [1, 7, 8, 48]) {
      expect(partitionOf(key, partitions)).toBe((hash & 0x7fffffff) % partitions);
    }
  });

  test('needs a whole number of partitions above zero', () => {
    expect(() => partitionOf('key', 0)).toThrow(RangeError);
    expect(() => partitionOf('key', 1.5)).toThrow(RangeError);
  });
});
