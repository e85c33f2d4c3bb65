import { expect, test } from '@jest/globals';
import { FeedViolation } from './book.js';
import { followBook } from './follow-book.js';
import { lineOf, parseLine, readRecording } from './read-recording.js';
import { clockRecord, entryRecord, hashOf, tombstone } from './testing/feed-records.js';

const [first, second] = [hashOf('01'), hashOf('02')];
const records = [
  entryRecord(first, { offset: 1 }),
  entryRecord(second, { offset: 2 }),
  clockRecord(9, { offset: 3 }, 900),
  tombstone(first, 'FILLED', { offset: 4 }),
];
const timed = (record: (typeof records)[number], index: number) => ({ ...record, timeMs: 1_700_000_000_000 + index });

async function* linesOf(all: readonly (typeof records)[number][]): AsyncGenerator<string> {
  for (const [index, record] of all.entries()) yield lineOf(timed(record, index));
}

test('a record that is written as a line is read back byte for byte', () => {
  for (const record of records) {
    const value = record.value === null ? null : String(record.value);
    expect(parseLine(lineOf(timed(record, 0)))).toEqual({ ...timed(record, 0), value });
  }
  const gone = timed(tombstone(first, 'FILLED', { offset: 4 }), 7);
  expect(JSON.parse(lineOf(gone))).toMatchObject({ value: null, timeMs: 1_700_000_000_007 });
});

test('a book is read from a recorded feed, and fails at a record that comes twice', async () => {
  const follow = (all: typeof records, onFatal: (error: Error) => void) =>
    followBook(readRecording(linesOf(all)), { topic: 'recorded', onFatal });
  const book = follow(records, (error) => {
    throw error;
  });
  await book.caughtUp;
  expect([...book.entries.keys()]).toEqual([second]);
  expect(book.clocks.get(3)?.block.number).toBe(9);

  const { promise: failed, resolve: onFatal } = Promise.withResolvers<Error>();
  await expect(follow([...records, ...records.slice(-1)], onFatal).caughtUp).rejects.toThrow(FeedViolation);
  expect((await failed).message).toContain('came after');
});
