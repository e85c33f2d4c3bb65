import { expect, test } from '@jest/globals';
import { type HealthParts, reportHealth } from './report-health.js';

const heard = (agoMs: number) => ({ isCaughtUp: () => true, lastPollAtMs: () => 1_000_000 - agoMs });
const well: HealthParts = {
  nowMs: () => 1_000_000,
  makers: heard(500),
  redis: { isReady: () => true },
  postgres: { isThere: async () => true },
};
const readyWhen = (parts: Partial<HealthParts>) => reportHealth({ ...well, ...parts }).ready();

test('ingress is ready while all is there', async () => {
  const checks = { whitelist: 'ok', kafka: 'ok', redis: 'ok', postgres: 'ok' };
  expect(await readyWhen({})).toEqual({ isOk: true, checks });
});

test.each<[string, Partial<HealthParts>, object]>([
  [
    'the whitelist is being read',
    { makers: { ...heard(500), isCaughtUp: () => false } },
    { whitelist: 'still being read from the log' },
  ],
  ['Kafka is silent for as long as an append waits', { makers: heard(5_000) }, { kafka: 'does not answer' }],
  ['Redis is away', { redis: { isReady: () => false } }, { redis: 'is away' }],
])('ingress is not ready while %s, and says so', async (_what, parts, checks) => {
  expect(await readyWhen(parts)).toMatchObject({ isOk: false, checks });
});

test('ingress stays ready through a pause of Kafka that an append outlives, and without Postgres', async () => {
  expect(await readyWhen({ makers: heard(4_999) })).toMatchObject({ isOk: true, checks: { kafka: 'ok' } });
  const checks = { postgres: expect.stringMatching(/^is away/) };
  expect(await readyWhen({ postgres: { isThere: async () => false } })).toMatchObject({ isOk: true, checks });
});
