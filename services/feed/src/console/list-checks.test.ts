import { expect, test } from '@jest/globals';
import { clockRecord } from '@makerbook/book/testing';
import { FoldedBook } from './browser/fold-records.js';
import { listChecks } from './browser/show-health.js';
import type { Page } from './browser/state.js';

const told = [{ isWell: true, what: 'kafka: ok', alert: 'KafkaAway' }];
const wrongOf = (silentMs: number, clocks: readonly number[]) => {
  const book = new FoldedBook();
  for (const [partition, seconds] of clocks.entries())
    book.apply(clockRecord(100, { offset: 9, partition }, seconds), 0);
  const when = () => ({ nowSeconds: 103, staleSecondsMax: 5 });
  const page = { book, when, state: { checks: told }, stateAtMs: performance.now() - silentMs };
  const checks = listChecks(page as unknown as Page);
  return { wrong: checks.flatMap(({ isWell, what }) => (isWell ? [] : [what])), of: checks.length };
};

test('all is well while the state is recent and each partition is fresh', () => {
  expect(wrongOf(2_000, [100, 101])).toEqual({ wrong: [], of: 3 });
});

test('checks of an old state are not shown, and its age is reported', () => {
  const wrong = [
    expect.stringMatching(/^feed: has sent this page no state for 60.\d s$/),
    'Stale partitions of the book: 1 of 2',
  ];
  expect(wrongOf(60_000, [100, 1])).toEqual({ wrong, of: 2 });
});

test('a book without any clock is not well', () => {
  expect(wrongOf(0, []).wrong).toEqual(['Stale partitions of the book: 0 of 0']);
});
