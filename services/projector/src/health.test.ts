import { describe, expect, test } from '@jest/globals';
import type { ConsumerHealth } from '@makerbook/kafka';
import { judgeLiveness, judgeReadiness, type Signs } from './health.js';

const running: ConsumerHealth = {
  state: 'running',
  assigned: [0, 1],
  lastPollAtMs: 1_000_000,
  retrying: new Map(),
};
const signs = (consumer: Partial<ConsumerHealth> = {}, nowMs = 1_001_000): Signs => ({
  nowMs,
  consumer: { ...running, ...consumer },
  claims: { lastLookAtMs: nowMs - 300 },
  commitsWaiting: [],
  lagMessages: 3n,
});

describe('liveness', () => {
  test('a loop that no broker has answered for long is not alive', () => {
    expect(judgeLiveness(signs(), 60_000).isOk).toBe(true);
    expect(judgeLiveness(signs({}, 1_061_000), 60_000)).toMatchObject({
      isOk: false,
      checks: { loop: 'no broker has answered for 61 s' },
    });
  });

  test('a process whose claims have not been looked at for long is not alive, whatever the looks were answered', () => {
    const claims = (lookMs: number) => ({ ...signs(), claims: { lastLookAtMs: 1_001_000 - lookMs, waitFor: 'away' } });
    expect(judgeLiveness(claims(29_000), 60_000).isOk).toBe(true);
    expect(judgeLiveness(claims(31_000), 60_000)).toMatchObject({
      isOk: false,
      checks: { loop: 'ok', claims: 'the claims have not been looked at for 31 s' },
    });
  });

  test('a loop that has failed is not ready, with the reason', () => {
    const failed = { ...signs({ state: 'failed' }), failure: 'the database belongs to another log' };
    expect(judgeReadiness(failed, 'ok')).toMatchObject({
      isOk: false,
      checks: { kafka: 'the consumer loop has failed: the database belongs to another log' },
    });
  });

  test('a loop that has failed or stopped is not alive', () => {
    expect(judgeLiveness(signs({ state: 'failed' }), 60_000).isOk).toBe(false);
    expect(judgeLiveness(signs({ state: 'stopped' }), 60_000).isOk).toBe(false);
  });
});

describe('readiness', () => {
  test('names the dependency that is missing', () => {
    expect(judgeReadiness(signs(), 'ok')).toMatchObject({ isOk: true, notes: { lag: '3 messages' } });
    expect(judgeReadiness(signs(), 'connection refused')).toMatchObject({
      isOk: false,
      checks: { kafka: 'ok', postgres: 'connection refused' },
    });
    expect(judgeReadiness(signs({}, 1_020_000), 'ok').checks['kafka']).toMatch(/no broker has answered for 20 s/);
  });

  test('a process that owns nothing is ready, once it has looked whether anything is free', () => {
    const idle = signs({ assigned: [], lastPollAtMs: 1_001_000 });
    expect(judgeReadiness(idle, 'ok')).toMatchObject({ isOk: true, notes: { assigned: '0 partitions' } });
    const starting = { ...idle, claims: { ...idle.claims, waitFor: 'the first looks are not answered yet' } };
    expect(judgeReadiness(starting, 'ok')).toMatchObject({
      isOk: false,
      checks: { postgres: 'ok', claims: 'the first looks are not answered yet' },
    });
  });

  test('a partition that waits to be retried is shown with its reason', () => {
    const retrying = new Map([[7, 'postgres is not available']]);
    expect(judgeReadiness(signs({ retrying }), 'ok')).toMatchObject({
      isOk: false,
      checks: { partitions: 'waiting to be retried: 7: postgres is not available' },
    });
  });

  test('a partition whose rows wait to be committed is shown with its reason', () => {
    const waiting = { ...signs(), commitsWaiting: [[3, 'postgres is starting'] as const] };
    expect(judgeReadiness(waiting, 'ok')).toMatchObject({
      isOk: false,
      checks: { partitions: 'waiting to be retried: 3: postgres is starting' },
    });
  });
});
