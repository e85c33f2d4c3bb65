import { describe, expect, test } from '@jest/globals';
import type { ConsumerHealth } from '@makerbook/kafka';
import { judgeLiveness, judgeReadiness, type Signs } from './health.js';

const running: ConsumerHealth = {
  state: 'running',
  assigned: [0, 1],
  lastPollAtMs: 1_000_000,
  lastTurnAtMs: 1_000_000,
  retrying: new Map(),
};
const signs = (consumer: Partial<ConsumerHealth> = {}, nowMs = 1_001_000): Signs => ({
  monotonicMs: nowMs,
  consumer: { ...running, ...consumer },
  claims: { lastLookAtMs: nowMs - 300 },
  commitsWaiting: [],
  lagMessages: 3n,
});

describe('a projector', () => {
  test('is alive and ready while all is well, and reports its lag and its partitions', () => {
    expect(judgeLiveness(signs(), 60_000).isOk).toBe(true);
    expect(judgeReadiness(signs(), 'ok')).toMatchObject({ isOk: true, notes: { lag: '3 messages' } });
    const idle = signs({ assigned: [], lastPollAtMs: 1_001_000 });
    expect(judgeReadiness(idle, 'ok')).toMatchObject({ isOk: true, notes: { assigned: '0 partitions' } });
  });

  test.each<[string, Signs, object]>([
    ['no fetch has ended for long', signs({}, 1_061_000), { loop: 'no fetch has ended for 61 s' }],
    [
      'no look at its claims has ended for long',
      { ...signs(), claims: { lastLookAtMs: 970_000, waitFor: 'away' } },
      { loop: 'ok', claims: 'no look at claims has ended for 31 s' },
    ],
    ['its loop has failed', signs({ state: 'failed' }), {}],
    ['its loop has stopped', signs({ state: 'stopped' }), {}],
  ])('is not alive while %s', (_what, given, checks) => {
    expect(judgeLiveness(given, 60_000)).toMatchObject({ isOk: false, checks });
  });

  test('is alive but not ready while Kafka is down', () => {
    const away = signs({ lastTurnAtMs: 1_060_000 }, 1_061_000);
    expect(judgeLiveness(away, 60_000).isOk).toBe(true);
    expect(judgeReadiness(away, 'ok').isOk).toBe(false);
  });

  test('is alive if it looked at its claims within half a minute, even if the look failed', () => {
    const claims = { lastLookAtMs: 972_000, waitFor: 'away' };
    expect(judgeLiveness({ ...signs(), claims }, 60_000).isOk).toBe(true);
  });

  test.each<[string, Signs, string, object]>([
    [
      'its loop has failed',
      { ...signs({ state: 'failed' }), failure: 'the database belongs to another log' },
      'ok',
      { kafka: 'the consumer loop has failed: the database belongs to another log' },
    ],
    ['Postgres is down', signs(), 'connection refused', { kafka: 'ok', postgres: 'connection refused' }],
    ['Kafka is down', signs({}, 1_020_000), 'ok', { kafka: expect.stringMatching(/no broker has answered for 20 s/) }],
    [
      'it has not looked whether anything is free',
      { ...signs(), claims: { ...signs().claims, waitFor: 'the first looks at claims are unanswered' } },
      'ok',
      { postgres: 'ok', claims: 'the first looks at claims are unanswered' },
    ],
    [
      'a partition waits to be retried',
      signs({ retrying: new Map([[7, 'postgres is not available']]) }),
      'ok',
      { partitions: 'waiting to be retried: 7: postgres is not available' },
    ],
    [
      'rows of a partition wait to be committed',
      { ...signs(), commitsWaiting: [[3, 'postgres is starting']] },
      'ok',
      { partitions: 'waiting to be retried: 3: postgres is starting' },
    ],
  ])('is not ready while %s, and names it', (_what, given, postgres, checks) => {
    expect(judgeReadiness(given, postgres)).toMatchObject({ isOk: false, checks });
  });
});
