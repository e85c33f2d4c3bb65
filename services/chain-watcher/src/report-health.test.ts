import { describe, expect, test } from '@jest/globals';
import { judgeLiveness, judgeReadiness, type Signs } from './report-health.js';

const block = { number: 100, hash: '0x1', timestamp: 1 } as const;
const well: Signs = {
  nowMs: 1_000_000,
  startedAtMs: 0,
  state: {
    phase: 'FOLLOWING',
    matched: { ...block, parentHash: '0x0' },
    processed: block,
    catchUp: undefined,
  },
  headNumber: 101,
  lastTurnAtMs: 999_900,
  lastPollAtMs: 999_900,
  failures: [],
  hasHalted: false,
  logRecords: 7,
};

describe('the watcher', () => {
  test('is ready and alive while it follows', () => {
    expect(judgeReadiness(well)).toEqual({ isOk: true, checks: { kafka: 'ok', dependencies: 'ok', position: 'ok' } });
    expect(judgeLiveness(well).isOk).toBe(true);
  });

  test.each<[string, Partial<Signs>, RegExp]>([
    ['Kafka is silent', { lastPollAtMs: 980_000 }, /no broker has answered for 20 s/],
    ['a node is away', { failures: ['blocks: gone'] }, /blocks: gone/],
    ['it reads the log', { state: { ...well.state, phase: 'READING_LOG' } }, /reading the log: 7 records/],
    ['it catches up', { state: { ...well.state, catchUp: { step: 'pairs', done: 3, total: 9 } } }, /3 of 9 pairs/],
    ['it is far behind', { headNumber: 200 }, /100 blocks behind/],
    ['nothing is processed', { state: { ...well.state, processed: undefined } }, /no block is processed yet/],
  ])('is not ready while %s, and says so, but is alive', (_what, signs, sentence) => {
    const health = judgeReadiness({ ...well, ...signs });
    expect(health.isOk).toBe(false);
    expect(Object.values(health.checks).join(' ')).toMatch(sentence);
    expect(judgeLiveness({ ...well, ...signs }).isOk).toBe(true);
  });

  test('is not alive once it has halted or its loop no longer turns, unless it waits for Kafka', () => {
    expect(judgeLiveness({ ...well, hasHalted: true }).isOk).toBe(false);
    expect(judgeLiveness({ ...well, lastTurnAtMs: 600_000 }).isOk).toBe(false);
    expect(judgeLiveness({ ...well, lastTurnAtMs: 600_000, lastPollAtMs: 600_000 }).isOk).toBe(true);
  });
});
