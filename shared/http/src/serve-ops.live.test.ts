import { expect, test } from '@jest/globals';
import { startTelemetry } from '@makerbook/telemetry';
import { type Health, healthOf, serveOps } from './serve-ops.js';

test('a service whose readiness cannot be judged is not ready, and a scrape says so', async () => {
  const telemetry = startTelemetry('test', { LOG_LEVEL: 'error' });
  let judge = (): Health => healthOf({ postgres: 'ok' });
  const { serveMetrics } = telemetry;
  const ops = await serveOps(
    { HOST: '127.0.0.1', HOST_NAMES: [], OPS_PORT: 0 },
    { ready: () => judge(), serveMetrics },
  );
  const ask = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${ops.port}${path}`);
    return { status: response.status, text: await response.text() };
  };
  expect((await ask('/readyz')).status).toBe(200);
  expect((await ask('/metrics')).text).toMatch(/^service_ready 1$/m);
  judge = () => {
    throw new Error('a bug');
  };
  expect(await ask('/readyz')).toMatchObject({ status: 503, text: expect.stringContaining('a bug') });
  expect((await ask('/metrics')).text).toMatch(/^service_ready 0$/m);
  await ops.stop();
  await telemetry.stop();
});
