import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cutBlockgroup, uint64 } from '../testing/encode-blockgroup.js';
import { SegmentJoiner, type SegmentRecord } from './join-segments.js';

const shuffled = <T>(list: readonly T[], order: readonly number[]): T[] =>
  list
    .map((each, index) => ({ each, rank: order[index % order.length] ?? 0 }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ each }) => each);

describe('segments', () => {
  test('of several messages give each message whole, however they are cut, shuffled and repeated', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 3000 }), { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 400 }),
        fc.constantFrom(undefined, 'node-1'),
        fc.array(fc.nat(1000), { minLength: 1, maxLength: 50 }),
        (messages, segmentBytes, producerId, order) => {
          const records = messages.flatMap((bytes, number) =>
            cutBlockgroup(number, Buffer.from(bytes), { segmentBytes, producerId }),
          );
          const joiner = new SegmentJoiner();
          const joined = new Map<string, string>();
          for (const record of shuffled([...records, ...records.slice(0, 20)], order)) {
            const message = joiner.add(record);
            if (message === undefined) continue;
            if (!Buffer.isBuffer(message)) throw new Error(message.unreadable);
            joined.set(record.key, message.toString('hex'));
          }
          expect([...joined].sort()).toEqual(
            messages.map((bytes, number) => [String(number), Buffer.from(bytes).toString('hex')]).sort(),
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  test('of two producers, or two partitions, are not mixed', () => {
    const joiner = new SegmentJoiner();
    const segment = (partition: number, producerId: string, index: number, text: string): SegmentRecord => ({
      partition,
      key: '7',
      value: Buffer.from(text),
      headers: { totalSegments: uint64(2), segmentIdx: uint64(index), version: '1.0', producerId },
    });
    expect(joiner.add(segment(0, 'a', 0, 'a0'))).toBeUndefined();
    expect(joiner.add(segment(0, 'b', 1, 'b1'))).toBeUndefined();
    expect(joiner.add(segment(1, 'a', 1, 'c1'))).toBeUndefined();
    expect(String(joiner.add(segment(0, 'a', 1, 'a1')))).toBe('a0a1');
    expect(String(joiner.add(segment(0, 'b', 0, 'b0')))).toBe('b0b1');
  });

  test('more than can be held give up the oldest message, and a new segment size begins anew', () => {
    const joiner = new SegmentJoiner(2);
    const segment = (key: string, total: number, index: number): SegmentRecord => ({
      partition: 0,
      key,
      value: Buffer.from(`${key}.${index}/${total} `),
      headers: { totalSegments: uint64(total), segmentIdx: uint64(index) },
    });
    for (const key of ['1', '2', '3']) joiner.add(segment(key, 2, 0));
    expect(joiner.add(segment('1', 2, 1))).toBeUndefined();
    expect(joiner.add(segment('3', 3, 1))).toBeUndefined();
    expect(joiner.add(segment('3', 3, 2))).toBeUndefined();
    expect(String(joiner.add(segment('3', 3, 0)))).toBe('3.0/3 3.1/3 3.2/3 ');
  });

  test('with other bytes than the one that is held begin their message anew: the two are not mixed', () => {
    const joiner = new SegmentJoiner();
    const segment = (index: number, text: string): SegmentRecord => ({
      partition: 0,
      key: '7',
      value: Buffer.from(text),
      headers: { totalSegments: uint64(3), segmentIdx: uint64(index), version: '1.0', producerId: 'a' },
    });
    for (const [index, text] of [
      [0, 'old0'],
      [1, 'old1'],
      [0, 'new0'],
      [2, 'new2'],
    ] as const) {
      expect(joiner.add(segment(index, text))).toBeUndefined();
    }
    expect(joiner.add(segment(0, 'new0'))).toBeUndefined();
    expect(String(joiner.add(segment(1, 'new1')))).toBe('new0new1new2');
  });

  test.each([
    ['no headers', {}],
    ['an index beyond the total', { totalSegments: uint64(2), segmentIdx: uint64(2) }],
    ['a total of zero', { totalSegments: uint64(0), segmentIdx: uint64(0) }],
    ['a total beyond any use', { totalSegments: '\xff'.repeat(8), segmentIdx: uint64(0) }],
    ['headers of another length', { totalSegments: '2', segmentIdx: '1' }],
  ])('with %s are unreadable', (_what, headers) => {
    const record = { partition: 0, key: '7', value: Buffer.from('{}'), headers };
    expect(new SegmentJoiner().add(record)).toMatchObject({ unreadable: expect.stringContaining('block 7') });
  });
});
