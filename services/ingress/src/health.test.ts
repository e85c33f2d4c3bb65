import { expect, test } from '@jest/globals';
import { type HealthParts, judgeReadiness } from './health.js';

const heard = (agoMs: number) => {
  return { isCaughtUp: () => true, isCancelOnly: () => false, silenceMs: () => agoMs };
};
const well: HealthParts = {
  topics: { areVerified: () => true },
  makers: heard(500),
  postgres: { isThere: async () => true },
  trust: { isTrusted: () => true },
  projection: { lagSeconds: () => 0 },
  lagSecondsMax: 60,
};
const readyWhen = (parts: Partial<HealthParts>) => judgeReadiness({ ...well, ...parts });

test('ingress is ready while all parts are well', async () => {
  const checks = { topics: 'ok', whitelist: 'ok', kafka: 'ok', postgres: 'ok', projection: 'ok', placing: 'ok' };
  expect(await readyWhen({})).toEqual({ isOk: true, checks });
});

test.each<[string, Partial<HealthParts>, object]>([
  [
    'the whitelist is being read',
    { makers: { ...heard(500), isCaughtUp: () => false } },
    { whitelist: 'still being read from the log' },
  ],
  ['its topics are not checked', { topics: { areVerified: () => false } }, { topics: 'not yet checked' }],
  ['Kafka is silent for as long as an append waits', { makers: heard(5_000) }, { kafka: 'does not answer' }],
])('ingress is not ready while %s, and says so', async (_what, parts, checks) => {
  expect(await readyWhen(parts)).toMatchObject({ isOk: false, checks });
});

test('ingress stays ready if Kafka pauses briefly, Postgres is down, the rows lag or orders are off', async () => {
  expect(await readyWhen({ makers: heard(4_999) })).toMatchObject({ isOk: true, checks: { kafka: 'ok' } });
  const checks = { postgres: expect.stringMatching(/^is down/) };
  expect(await readyWhen({ postgres: { isThere: async () => false } })).toMatchObject({ isOk: true, checks });
  const lost = { postgres: expect.stringMatching(/^may have lost rows/) };
  expect(await readyWhen({ trust: { isTrusted: () => false } })).toMatchObject({ isOk: true, checks: lost });
  const behind = { projection: 'behind the log for 61 s: nothing can be placed' };
  expect(await readyWhen({ projection: { lagSeconds: () => 61 } })).toMatchObject({ isOk: true, checks: behind });
  const cancelOnly = { placing: 'an operator has set cancel-only: no orders are taken' };
  const makers = { ...heard(500), isCancelOnly: () => true };
  expect(await readyWhen({ makers })).toMatchObject({ isOk: true, checks: cancelOnly });
});
