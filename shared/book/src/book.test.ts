import { describe, expect, test } from '@jest/globals';
import type { BookEntry } from '@makerbook/contracts-events';
import { readGoldenMessages } from '@makerbook/contracts-events/testing';
import type { Hex } from '@makerbook/contracts-primitives';
import { Book, type FeedRecord, FeedViolation } from './book.js';
import { clockRecord, entryRecord, hashOf, tombstone } from './testing/feed-records.js';

const [first, second] = [hashOf('01'), hashOf('02')];
const active = { status: 'ACTIVE', funding: { balance: '0xa', allowance: '0xa', block: 7 } } as const;

function bookOf(...records: readonly FeedRecord[]): Book {
  const book = new Book();
  for (const record of records) book.apply(record);
  return book;
}

describe('the book', () => {
  test('holds the newest record of each order, and no removed orders', () => {
    const book = bookOf(
      entryRecord(first, { offset: 1 }),
      entryRecord(second, { offset: 2 }),
      entryRecord(first, { offset: 3 }, { ...active, causes: ['OBSERVED'] }),
      tombstone(second, 'CANCELLED', { offset: 4 }),
    );
    expect([...book.entries].map(([hash, { status, causes }]) => [hash, status, causes])).toEqual([
      [first, 'ACTIVE', ['OBSERVED']],
    ]);
  });

  test.each(readGoldenMessages().filter(([file]) => file.startsWith('BookEntry-')))('holds all of %s', (_, message) => {
    const { key, headers, value } = message;
    const entry = JSON.parse(value ?? '');
    const partition = entry.position.partition;
    const named = { ...headers, ce_id: `${partition}:1:0` };
    const book = bookOf({ partition, key: key ?? '', headers: named, value: Buffer.from(value ?? '') });
    expect(book.entries.get(entry.orderHash)).toEqual({ type: 'BookEntry', ...entry });
  });

  test('tells what each record changed', () => {
    const book = new Book();
    expect(book.apply(entryRecord(first, { offset: 5 }))).toMatchObject({
      kind: 'entry',
      before: undefined,
      entry: { status: 'VALIDATING' },
      id: { offset: 5n, index: 0 },
    });
    // One fact can open an order and remove it.
    expect(book.apply(tombstone(first, 'EXPIRED', { offset: 5, index: 2 }))).toMatchObject({
      kind: 'removed',
      orderHash: first,
      removal: 'EXPIRED',
      before: { status: 'VALIDATING' },
      position: { partition: 3, offset: '5' },
      id: { offset: 5n, index: 2 },
    });
    expect(book.apply(clockRecord(9, { offset: 6 }))).toMatchObject({
      kind: 'clock',
      clock: { block: { number: 9 }, position: { partition: 3, offset: '7' } },
    });
  });

  test('accepts a tombstone for an order that compaction has removed', () => {
    expect(new Book().apply(tombstone(first, 'FILLED', { offset: 5 }))).toMatchObject({ before: undefined });
  });

  test('is as old as the oldest clock of any partition, and of unknown age while one is missing', () => {
    const book = bookOf(clockRecord(9, { offset: 1 }, 900), clockRecord(10, { offset: 2 }, 1000));
    expect(book.staleSince(0)).toBeUndefined();
    expect(book.staleSince(1)).toBe(1000);
    expect(book.staleSince(2)).toBeUndefined();
    const other = clockRecord(8, { offset: 1 }, 800);
    const text = JSON.parse(String(other.value)) as { position: object };
    book.apply({
      partition: 0,
      key: 'clock:0',
      value: Buffer.from(JSON.stringify({ ...text, position: { ...text.position, partition: 0 } })),
      headers: { ...other.headers, ce_id: '0:1:0' },
    });
    expect(book.staleSince(2)).toBe(800);
  });
});

describe('a feed that breaks its promise is an error', () => {
  const entry = (hash: Hex, offset: number, index = 0, given: Partial<BookEntry> = {}) =>
    entryRecord(hash, { offset, index }, given);
  const at = (partition: number, offset: string) => ({ position: { partition, offset } });
  const repeated = entry(first, 5);
  test.each<[string, readonly FeedRecord[], RegExp]>([
    ['a message comes twice', [repeated, repeated], /message 3:5:0 came after 3:5:0/],
    [
      'an older fact comes after a newer one, of another order',
      [entry(first, 5), entry(second, 4, 9)],
      /message 3:4:9 came after 3:5:0/,
    ],
    ['messages of one fact change places', [entry(first, 5, 1), entry(second, 5, 0)], /message 3:5:0 came after 3:5:1/],
    ['a message has no name', [{ ...repeated, headers: {} }], /ce_id is missing/],
    ['a message is of another partition', [{ ...repeated, partition: 2 }], /ce_id 3:5:0 is not/],
    ['a record has the key of another order', [{ ...repeated, key: second }], /it is of order 0x01/],
    [
      'the position of an order goes back',
      [entry(first, 5), entry(first, 6, 0, at(3, '4'))],
      /position 4 came after 5/,
    ],
    ['a position is of another partition', [entry(first, 6, 0, at(2, '4'))], /its position is in partition 2/],
    [
      'a message comes after the clock that is the last one of its fact',
      [clockRecord(9, { offset: 5 }), entry(first, 5, 1)],
      /message 3:5:1 came after the clock/,
    ],
    ['a clock goes back', [clockRecord(9, { offset: 1 }), clockRecord(8, { offset: 2 })], /block 8 came after block 9/],
    [
      'a clock has the key of an order',
      [{ ...clockRecord(9, { offset: 1 }), key: first }],
      /clock of another partition/,
    ],
    [
      'a tombstone gives no reason',
      [{ ...repeated, value: null }],
      /a tombstone says removal undefined, position undefined:undefined/,
    ],
    ['a record cannot be read', [{ ...repeated, value: Buffer.from('{}') }], /BookEntry: /],
  ])('%s', (_, records, what) => {
    const book = bookOf(...records.slice(0, -1));
    const before = [...book.entries];
    const last = records.at(-1) as FeedRecord;
    expect(() => book.apply(last)).toThrow(FeedViolation);
    expect(() => book.apply(last)).toThrow(what);
    expect([...book.entries]).toEqual(before);
  });
});
