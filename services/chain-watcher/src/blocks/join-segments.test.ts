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
  test('are joined to whole messages, however they are cut, shuffled and repeated', () => {
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

  /** A segment of block 7, by one producer. */
  const segment = (total: number, index: number, text: string, more: Partial<SegmentRecord> = {}): SegmentRecord => ({
    partition: 0,
    key: '7',
    value: Buffer.from(text),
    headers: headersOf(total, index, 'a'),
    ...more,
  });
  const headersOf = (total: number, index: number, producerId: string) => {
    return { totalSegments: uint64(total), segmentIdx: uint64(index), version: '1.0', producerId };
  };

  test('of two producers, or two partitions, are not mixed', () => {
    const joiner = new SegmentJoiner();
    const ofOther = (index: number, text: string) => segment(2, index, text, { headers: headersOf(2, index, 'b') });
    expect(joiner.add(segment(2, 0, 'a0'))).toBeUndefined();
    expect(joiner.add(ofOther(1, 'b1'))).toBeUndefined();
    expect(joiner.add(segment(2, 1, 'c1', { partition: 1 }))).toBeUndefined();
    expect(String(joiner.add(segment(2, 1, 'a1')))).toBe('a0a1');
    expect(String(joiner.add(ofOther(0, 'b0')))).toBe('b0b1');
  });

  test('beyond the limit push out the oldest message, and a new segment size starts a message over', () => {
    const joiner = new SegmentJoiner(2);
    for (const key of ['1', '2', '3']) joiner.add(segment(2, 0, 'old', { key }));
    expect(joiner.add(segment(2, 1, 'b', { key: '1' }))).toBeUndefined();
    expect(joiner.add(segment(3, 1, 'b', { key: '3' }))).toBeUndefined();
    expect(joiner.add(segment(3, 2, 'c', { key: '3' }))).toBeUndefined();
    expect(String(joiner.add(segment(3, 0, 'a', { key: '3' })))).toBe('abc');
  });

  test('that differ from the held ones start a new message: the two are not mixed', () => {
    const joiner = new SegmentJoiner();
    const added = [segment(3, 0, 'old0'), segment(3, 1, 'old1'), segment(3, 0, 'new0'), segment(3, 2, 'new2')];
    expect(added.map((each) => joiner.add(each))).toEqual(Array(4).fill(undefined));
    expect(joiner.add(segment(3, 0, 'new0'))).toBeUndefined();
    expect(String(joiner.add(segment(3, 1, 'new1')))).toBe('new0new1new2');
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
