import { describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { Book, FeedViolation } from './book.js';
import { BookHash, type HashedEntry } from './hash-book.js';
import { clockRecord, entryRecord, hashOf, tombstone } from './testing/feed-records.js';

const entries: HashedEntry[] = [
  { orderHash: hashOf('01'), remainingMakingAmount: '0xa', status: 'ACTIVE' },
  { orderHash: hashOf('02'), remainingMakingAmount: '0x1', status: 'INACTIVE' },
  { orderHash: hashOf('03'), remainingMakingAmount: '0xffff', status: 'VALIDATING' },
];

function digestOf(...some: readonly HashedEntry[]) {
  const hash = new BookHash();
  for (const entry of some) hash.add(entry);
  return hash.digest;
}

describe('the hash of a book', () => {
  test('is what the guide says', () => {
    expect(digestOf()).toEqual({ entries: 0, hash: `0x${'00'.repeat(32)}` });
    expect(digestOf(...entries.slice(0, 1)).hash).toBe(
      '0x4340c7debc6b5123da8fcebd093b3cab0e56fc74cf41172f0f9d22863eb8d505',
    );
    expect(digestOf(...entries)).toEqual({
      entries: 3,
      hash: '0x6bcdaaacd8174aa0531f997ae4f3c040d43064a3185a9d28c89e3804085e59f8',
    });
  });

  test('is the same in a browser, which lacks the SHA-256 of Node', async () => {
    const builtins = jest.spyOn(process, 'getBuiltinModule').mockReturnValue({});
    // The query loads it again, as another module.
    const browser = (await import(`${'./hash-book.js'}?browser`)) as { BookHash: typeof BookHash };
    builtins.mockRestore();
    const hash = new browser.BookHash();
    for (const entry of entries) hash.add(entry);
    expect(hash.digest).toEqual(digestOf(...entries));
  });

  test('depends on what is in the book, not on how it got there', () => {
    const step = fc.record({ entry: fc.constantFrom(...entries), isGone: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const hash = new BookHash();
        const held = new Set<HashedEntry>();
        for (const { entry, isGone } of steps) {
          if (held.has(entry) !== isGone) continue;
          hash[isGone ? 'remove' : 'add'](entry);
          held[isGone ? 'delete' : 'add'](entry);
        }
        expect(hash.digest).toEqual(digestOf(...held));
        expect(new BookHash(hash.digest).digest).toEqual(hash.digest);
      }),
    );
  });
});

describe('a complete book', () => {
  const [first, second] = [hashOf('01'), hashOf('02')];
  const active = { status: 'ACTIVE', funding: { balance: '0xa', allowance: '0xa', block: 7 } } as const;
  const records = [
    entryRecord(first, { offset: 1 }),
    entryRecord(second, { offset: 2 }),
    entryRecord(first, { offset: 3 }, active),
    tombstone(second, 'CANCELLED', { offset: 4 }),
  ];
  const left = { orderHash: first, remainingMakingAmount: '0xa', status: 'ACTIVE' } as const;
  const clock = clockRecord(9, { offset: 5 }, 9, digestOf(left));

  function read(some: readonly (typeof clock)[], isWhole = true) {
    const book = new Book();
    if (isWhole) book.expectWhole();
    for (const record of some) book.apply(record);
  }

  test('agrees with its clock', () => {
    expect(() => read([...records, clock])).not.toThrow();
  });

  test.each<[string, typeof records]>([
    ['an order is lost that nothing is said of later', records.toSpliced(0, 1).toSpliced(1, 1)],
    ['the last change of an order is lost', records.toSpliced(2, 1)],
    ['a tombstone is lost', records.slice(0, 3)],
    [
      'an amount is altered',
      records.with(2, entryRecord(first, { offset: 3 }, { ...active, remainingMakingAmount: '0xb' })),
    ],
    ['a status is altered', records.with(2, entryRecord(first, { offset: 3 }))],
  ])('notices at the next clock that %s', (_what, harmed) => {
    expect(() => read([...harmed, clock])).toThrow(FeedViolation);
    expect(() => read([...harmed, clock])).toThrow(/partition 3 .* must have 1 .* a record was lost/);
    // Until all that was there is read, compaction may have left records out.
    expect(() => read([...harmed, clock], false)).not.toThrow();
  });
});
