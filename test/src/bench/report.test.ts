import { expect, test } from '@jest/globals';
import { compare, isMissed, state } from './report.js';

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
