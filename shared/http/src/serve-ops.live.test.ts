import { get } from 'node:http';
import { expect, test } from '@jest/globals';
import { startTelemetry } from '@makerbook/telemetry';
import { type Health, healthOf, serveOps } from './serve-ops.js';

test('a port for operators also answers requests to an IP address, as probes and scrapes send them', async () => {
  const ops = await serveOps(
    { HOST: '127.0.0.1', HOST_NAMES: ['api.example'], OPS_PORT: 0 },
    { ready: () => healthOf({}), serveMetrics: (_, response) => void response.end() },
  );
  const statusBy = (host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const asked = get({ port: ops.port, path: '/readyz', headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.on('error', reject);
    });
  const hosts = ['api.example', '10.0.0.5:9090', '[::1]:9090', 'evil.example', '10.0.0.5.evil.example'];
  expect(await Promise.all(hosts.map(statusBy))).toEqual([200, 200, 200, 400, 400]);
  await ops.stop();
});

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
