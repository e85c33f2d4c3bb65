import { expect, test } from '@jest/globals';
import { compare, isMissed, putResults, type Report, state } from './report.js';

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

test('results of a bench take the place of its earlier ones on as many cores', () => {
  const head =
    'Text.\n\n| date | commit | cores | bench | row | figure | goal | met |\n|---|---|---|---|---|---|---|---|\n';
  const other = '| 2026-11-23 | – | 2 | list | GET | 1 µs |  |  |\n';
  const elsewhere = '| 2026-11-23 | – | 8 | post | POST | 1 µs |  |  |\n';
  const earlier = '| 2026-11-23 | – | 2 | post | POST | 1 µs |  |  |\n';
  const report: Report = {
    bench: 'post',
    finishedAt: '2026-11-25T16:00:00.000Z',
    commit: 'abc1234',
    isQuick: false,
    cores: 2,
    node: 'v24.21.0',
    load: 0.1,
    figures: [compare('POST of 1', 'µs', rounds, { ratioMax: 1.6 }), state('idle', 'ms per s', 60, { valueMax: 60 })],
  };
  expect(putResults(head + other + earlier + elsewhere, report)).toBe(
    `${head}| 2026-11-25 | abc1234 | 2 | post | POST of 1 | **1.8** (1.5–1.9): 180 by 100 µs | ≤ 1.6 | **missed** |
| 2026-11-25 | abc1234 | 2 | post | idle | 60 ms per s | ≤ 60 ms per s | met |
${other}${elsewhere}`,
  );
});
