import { expect, test } from '@jest/globals';
import { type HealthParts, judgeReadiness } from './health.js';

const makers = { isCaughtUp: () => true, silenceMs: () => 0 };
const noRedis = { redis: { isThere: async () => false } };
const noPostgres = { postgres: { isThere: async () => false } };

/** The readiness when Kafka has been silent for so long, and all other parts answer. */
const readyAfter = (silenceMs: number, parts: Partial<HealthParts> = {}) =>
  judgeReadiness({
    makers: { ...makers, silenceMs: () => silenceMs },
    redis: { isThere: async () => true },
    postgres: { isThere: async () => true },
    ...parts,
  });

test.each<[string, number, Partial<HealthParts>, object]>([
  ['while all is there', 500, {}, { whitelist: 'ok', kafka: 'ok', redis: 'ok', postgres: 'ok' }],
  ['without Redis', 500, noRedis, { redis: 'does not answer' }],
  ['without Postgres', 500, noPostgres, { postgres: 'is down' }],
  ['without Kafka', 15_000, {}, { kafka: 'does not answer' }],
  ['while a connection that was lost is taken up again', 11_000, {}, { kafka: 'ok' }],
])('query is ready %s', async (_what, silenceMs, parts, checks) => {
  expect(await readyAfter(silenceMs, parts)).toMatchObject({ isOk: true, checks });
});

test.each<[string, Partial<HealthParts>]>([
  ['while the whitelist is being read', { makers: { ...makers, isCaughtUp: () => false } }],
  ['without both Redis and Postgres', { ...noRedis, ...noPostgres }],
  ['without Postgres where no Redis is set', { redis: undefined, ...noPostgres }],
])('query is not ready %s', async (_what, parts) => {
  expect(await readyAfter(500, parts)).toMatchObject({ isOk: false });
});
