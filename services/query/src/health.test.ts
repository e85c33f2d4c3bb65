import { expect, test } from '@jest/globals';
import { type HealthParts, judgeReadiness } from './health.js';

const makers = { isCaughtUp: () => true, silenceMs: () => 0 };
const noRedis = { redis: { isThere: async () => false } };
const noPostgres = { postgres: { isThere: async () => false } };

/** Kafka has answered so long ago, and everything is there. */
const readyAfter = (silenceMs: number, parts: Partial<HealthParts> = {}) =>
  judgeReadiness({
    makers: { ...makers, silenceMs: () => silenceMs },
    redis: { isThere: async () => true },
    postgres: { isThere: async () => true },
    ...parts,
  });

test('query is ready while all is there', async () => {
  const checks = { whitelist: 'ok', kafka: 'ok', redis: 'ok', postgres: 'ok' };
  expect(await readyAfter(500)).toEqual({ isOk: true, checks });
});

test('query is ready without Redis, without Postgres, and without Kafka, and reports it', async () => {
  expect(await readyAfter(500, noRedis)).toMatchObject({ isOk: true, checks: { redis: 'does not answer' } });
  expect(await readyAfter(500, noPostgres)).toMatchObject({ isOk: true, checks: { postgres: 'is away' } });
  expect(await readyAfter(15_000)).toMatchObject({ isOk: true, checks: { kafka: 'does not answer' } });
});

test('query needs no Redis, and shows none where none is set', async () => {
  expect(await readyAfter(500, { redis: undefined })).toEqual({
    isOk: true,
    checks: { whitelist: 'ok', kafka: 'ok', postgres: 'ok' },
  });
  expect(await readyAfter(500, { redis: undefined, ...noPostgres })).toMatchObject({ isOk: false });
});

test('query does not call Kafka away for a connection that is lost and taken up again', async () => {
  expect(await readyAfter(11_000)).toMatchObject({ checks: { kafka: 'ok' } });
});

test('query is not ready while the whitelist is being read, nor without both Redis and Postgres', async () => {
  expect(await readyAfter(500, { makers: { ...makers, isCaughtUp: () => false } })).toMatchObject({ isOk: false });
  expect(await readyAfter(500, { ...noRedis, ...noPostgres })).toMatchObject({ isOk: false });
});
