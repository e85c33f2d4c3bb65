import { describe, expect, test } from '@jest/globals';
import { judgeLiveness, judgeReadiness, type Signs } from './health.js';

const LAG_SECONDS_MAX = 15;
const SILENCE_MS_MAX = 300_000;
const block = { number: 100, hash: '0x1', timestamp: 999 } as const;
const well = {
  nowMs: 1_000_000,
  unixMs: 1_000_000,
  startedAtMs: 0,
  state: {
    hasReadLog: true,
    role: 'HOLDER',
    awaited: [],
    position: {
      phase: 'FOLLOWING',
      matched: { ...block, parentHash: '0x0' },
      processed: block,
      catchUp: undefined,
    },
  } as Signs['work']['state'],
  headNumber: 101,
  lastTurnAtMs: 999_900,
  lastPollAtMs: 999_900,
  failure: undefined as string | undefined,
  halt: undefined as string | undefined,
};
type Given = Partial<typeof well>;
const signsOf = (given: Given): Signs => {
  const { nowMs, unixMs, failure, halt, lastPollAtMs, headNumber, state, ...times } = { ...well, ...given };
  return {
    vitals: {
      ...times,
      monotonicMs: () => nowMs,
      unixMs: () => unixMs,
      failures: new Map(failure === undefined ? [] : [['blocks', failure]]),
      halt: halt === undefined ? undefined : new Error(halt),
    },
    work: {
      state,
      followed: {
        newestBlock: () => block,
        lastPollAtMs: () => lastPollAtMs,
        counts: { records: 7, unreadable: 0 },
      },
    },
    headNumber: () => headNumber,
  };
};
const position = well.state.position as NonNullable<typeof well.state.position>;
const at = (changed: Partial<typeof position>) => ({ state: { ...well.state, position: { ...position, ...changed } } });
const readiness = (given: Given, lagSecondsMax = LAG_SECONDS_MAX) => judgeReadiness(signsOf(given), lagSecondsMax);
const liveness = (given: Given) => judgeLiveness(signsOf(given), SILENCE_MS_MAX);

describe('the watcher', () => {
  test('is ready and alive while it follows', () => {
    const checks = { kafka: 'ok', dependencies: 'ok', position: 'ok' };
    expect(readiness({})).toEqual({ isOk: true, checks, notes: { role: 'holder' } });
    expect(liveness({}).isOk).toBe(true);
  });

  test.each<[string, Given, RegExp]>([
    ['Kafka is silent', { lastPollAtMs: 980_000 }, /no broker has answered for 20 s/],
    ['a node is down', { failure: 'gone' }, /blocks: gone/],
    ['it reads the log', { state: { ...well.state, hasReadLog: false } }, /reading the log: 7 records/],
    ['it catches up', at({ catchUp: { step: 'makers', done: 3, total: 9 } }), /3 of 9 makers/],
    ['it follows', at({ catchUp: { step: 'followed', done: 3, total: 9 } }), /3 of 9 blocks foll/],
    ['it is far behind', { headNumber: 200 }, /100 blocks behind/],
    ['nothing is processed', at({ processed: undefined }), /no block is processed yet/],
    ['the node is behind the log', { headNumber: 80 }, /the node is 20 blocks behind block 100/],
    [
      'the node stands still',
      at({ processed: { ...block, timestamp: 984 } }),
      /block 100, the newest one published, is 16 s old/,
    ],
    ['it has halted', { halt: 'a reorganisation' }, /^halted: a reorganisation$/],
    [
      'it reads what the one before it has published',
      { state: { hasReadLog: true, role: 'TAKING_OVER', position: undefined, awaited: [3] } },
      /taking over: waiting for partition 3 of the log/,
    ],
  ])('is not ready while %s, and says so, but is alive', (_what, signs, sentence) => {
    const health = readiness(signs);
    expect(health.isOk).toBe(false);
    expect(Object.values(health.checks).join(' ')).toMatch(sentence);
    expect(liveness(signs).isOk).toBe(true);
  });

  test('is ready up to the allowed block age (0 allows any), and also if its clock is behind the chain', () => {
    const processedAt = (timestamp: number) => at({ processed: { ...block, timestamp } });
    expect(readiness(processedAt(985)).isOk).toBe(true);
    expect(readiness(processedAt(5000)).isOk).toBe(true);
    expect(readiness(processedAt(1), 0).isOk).toBe(true);
  });

  test('is not alive once its block loop has stopped, unless it waits for Kafka or has halted', () => {
    expect(liveness({ lastTurnAtMs: 600_000, halt: 'a reorganisation' }).isOk).toBe(true);
    expect(liveness({ lastTurnAtMs: 600_000 }).checks).toEqual({ loop: 'the block loop has been stuck for 400 s' });
    expect(liveness({ lastTurnAtMs: 600_000, lastPollAtMs: 600_000 }).isOk).toBe(true);
  });

  test('is ready and alive as a standby, however old the last block is, and says that it is one', () => {
    const state = { ...well.state, role: 'STANDBY', position: undefined } as const;
    const standby = { state, lastTurnAtMs: 0, headNumber: 500 };
    expect(readiness(standby).isOk).toBe(true);
    expect(readiness(standby).notes?.['role']).toBe('standby');
    expect(liveness(standby).isOk).toBe(true);
    expect(readiness({ ...standby, lastPollAtMs: 900_000 }).isOk).toBe(false);
  });
});
