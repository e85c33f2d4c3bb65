import { expect, test } from '@jest/globals';
import type { ChaosResult, Round } from './run-chaos.js';
import { showTable } from './show-table.js';

const fault = (kind: string, part: string) => ({ kind, part, detail: part });
const round = (beganAtMs: number, feedMs: number, ...faults: Round['faults']): Round => ({
  faults,
  heldMs: 1,
  beganAtMs,
  recoveredMs: { POST: 100, GET: 200, feed: feedMs, order: 50 },
  readyMs: 0,
  unready: '',
});

test('a row has its rounds, the slowest of POST, GET and feed, and what was answered since such a round began', () => {
  const rounds = [
    round(1_000, 3_000, fault('SIGKILL', 'Kafka')),
    round(2_000, 50, fault('delays', 'Redis'), fault('SIGKILL', 'query')),
    round(3_000, 1_000, fault('SIGKILL', 'Kafka')),
    round(4_000, 2_000, fault('SIGKILL', 'Kafka')),
  ];
  const findings = [
    { wrong: 'lost', text: '', atMs: 2_500 },
    { wrong: 'doubled', text: '', atMs: 9_000 },
  ] as const;
  const result = { rounds, findings } as unknown as ChaosResult;
  expect(showTable(result).split('\n').slice(2)).toEqual([
    '| SIGKILL | Kafka | 3 | 0 | 0 | 1 | 2.0 | 3.0 |',
    '| two at once | any | 1 | 1 | 0 | 0 | 0.2 | 0.2 |',
    '| **all** |  | 4 | 1 | 0 | 1 | 1.0 | 3.0 |',
  ]);
});
