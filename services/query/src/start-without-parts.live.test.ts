import { expect, test } from '@jest/globals';
import { getLimitOrdersRequestTypes, typedDataDomain } from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import { readSettings } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import { hexlify, randomBytes, Wallet } from 'ethers';
import { querySettings } from './env.js';
import { runQuery } from './run.js';

const domain = { serviceName: 'Test', chainId: 8217, verifyingContract: `0x${'12'.repeat(20)}` } as const;

test('without Redis, Kafka and Postgres query is alive but not ready, and answers 503 as retryable', async () => {
  const settings = readSettings(querySettings, {
    PORT: '0',
    OPS_PORT: '0',
    KAFKA_BROKERS: '127.0.0.1:1',
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    REDIS_URL: '',
    SERVICE_NAME: domain.serviceName,
    LIMIT_ORDER_PROTOCOL_ADDRESS: domain.verifyingContract,
  });
  const serveMetrics = (_: unknown, response: { end: () => void }) => response.end();
  const query = await runQuery(settings, { logger: silentLogger, serveMetrics });
  try {
    const ops = (path: string) => fetch(`http://127.0.0.1:${query.opsPort}${path}`);
    expect((await ops('/livez')).status).toBe(200);
    const ready = await ops('/readyz');
    const { checks } = (await ready.json()) as { checks: object };
    expect([ready.status, Object.keys(checks).sort()]).toEqual([503, ['kafka', 'postgres', 'whitelist']]);
    const issuedAt = Math.floor(Date.now() / 1000);
    const salt = hexlify(randomBytes(32));
    const signed = { ...typedDataDomain(domain), salt };
    const signature = await Wallet.createRandom().signTypedData(signed, getLimitOrdersRequestTypes, { issuedAt });
    const asked = new URLSearchParams({ issuedAt: String(issuedAt), salt, signature });
    const answer = await fetch(`http://127.0.0.1:${query.port}${paths.limitOrders}?${asked}`);
    expect([answer.status, await answer.json()]).toMatchObject([503, { code: 'unavailable', retryable: true }]);
    const info = await fetch(`http://127.0.0.1:${query.port}${paths.info}`);
    expect([info.status, await info.json()]).toMatchObject([200, { block: null }]);
  } finally {
    await query.stop();
  }
});
