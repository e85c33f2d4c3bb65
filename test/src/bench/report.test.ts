import { expect, test } from '@jest/globals';
import { comparePairs } from './compare-commits.js';
import { compare, formatFigures, isMissed, readFigures, state } from './report.js';

const rounds = [
  { value: 150, floor: 100 },
  { value: 180, floor: 100 },
  { value: 190, floor: 100 },
];

test('a goal bounds the median ratio of the rounds, or the value', () => {
  expect(compare('a', 'µs', rounds, { ratioMax: 1.8 })).toMatchObject({ isMet: true, ratio: { median: 1.8 } });
  expect(compare('a', 'µs', rounds, { ratioMax: 1.7 })).toMatchObject({ isMet: false });
  expect(compare('a', 'facts per s', rounds, { ratioMin: 1.9 })).toMatchObject({ isMet: false });
  expect(state('b', 'ms', 100, { valueMax: 100 })).toMatchObject({ isMet: true });
});

test('a missed goal fails the check, and a missed reference does not', () => {
  expect(isMissed(state('b', 'ms', 101, { valueMax: 100 }))).toBe(true);
  expect(isMissed(state('b', 'ms', 101))).toBe(false);
  expect(isMissed(state('c', 'orders per s', 1_000, { referenceMin: 2_600 }))).toBe(false);
});

test('the table of a bench is read back without goals, floors and figures in names', () => {
  const table = formatFigures([
    compare('POST, at 981 orders per s', 'µs per order', rounds, { ratioMax: 1.7 }),
    compare('GET of 1,000', 'MB', [{ value: 1_204, floor: -3 }]),
    state('POST of 1, p50', 'ms', 5.584, { valueMax: 1 }),
    state('Redis', 'µs', -6.21),
  ]);
  expect(readFigures(`under load\n\n${table}`)).toEqual([
    state('POST, at orders per s', 'µs per order', 180),
    state('GET of 1,000', 'MB', 1_204),
    state('POST of 1, p50', 'ms', 5.58),
    state('Redis', 'µs', -6.21),
  ]);
});

test('two commits are compared pair by pair, only in rows that both have with values above zero', () => {
  const these = [[state('a', 'ms', 2), state('b', 'ms', 1), state('c', 'ms', 0)], [state('a', 'ms', 3)]];
  const those = [[state('a', 'ms', 4), state('c', 'ms', 1)], [state('a', 'ms', 4)]];
  const ratio = { min: 0.5, median: 0.75, max: 0.75 };
  expect(comparePairs(these, those)).toMatchObject([{ name: 'a', value: 3, floor: 4, ratio }]);
});
