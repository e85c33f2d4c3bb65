import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { connectLog, TopicMismatch } from '@makerbook/kafka';
import { findFreePorts, openTcpGate, testParts, until } from '@makerbook/parts';
import { migrate } from '@makerbook/postgres';
import { readSettings } from '@makerbook/settings';
import { type Logger, silentLogger } from '@makerbook/telemetry';
import { ingressSettings } from '../env.js';
import { type Ingress, runIngress } from '../run.js';
import {
  issuer,
  navigator,
  quoteV0,
  quoteV1,
  readTestQuote,
  serviceKey,
  serviceSigner,
  signTestQuote,
} from '../testing/sign-test-quotes.js';

const lines: string[] = [];
const keep = (...line: unknown[]) => void lines.push(inspect(line, { depth: 9 }));
const logger: Logger = { debug: keep, info: keep, warn: keep, error: keep };
const running: Ingress[] = [];
let nowhere: Record<string, string>;

/** Addresses at which nobody answers. */
beforeAll(async () => {
  const [kafka, postgres, redis] = await findFreePorts(3);
  nowhere = {
    KAFKA_BROKERS: `127.0.0.1:${kafka}`,
    DATABASE_URL: `postgres://u:p@127.0.0.1:${postgres}/d`,
    REDIS_URL: `redis://127.0.0.1:${redis}/0`,
  };
});

afterEach(async () => {
  for (const service of running.splice(0)) await service.stop();
});
afterAll(() => expect(lines.join('\n')).not.toContain(serviceKey.slice(2)));

async function start(environment: Record<string, string>): Promise<string> {
  const settings = readSettings(ingressSettings, {
    SERVICE_NAME: 'Test',
    LIMIT_ORDER_PROTOCOL_ADDRESS: navigator,
    NAVIGATOR_ADDRESS: navigator,
    QUOTE_SIGNERS: issuer,
    QUOTE_SIGNER_KEY: serviceKey,
    PORT: '0',
    OPS_PORT: '0',
    ...nowhere,
    ...environment,
  });
  const telemetry = { logger, serveMetrics: (_: unknown, response: { end(): void }) => response.end() };
  const service = await runIngress(settings, telemetry);
  running.push(service);
  return `http://127.0.0.1:${service.port}`;
}

const json = { 'content-type': 'application/json' };

function send(base: string, body: object): Promise<Response> {
  return fetch(`${base}/v0/quote/data`, { method: 'PATCH', headers: json, body: JSON.stringify(body) });
}

async function expectProblem(response: Response, status: number, code: string): Promise<Record<string, unknown>> {
  const text = await response.text();
  expect(`${response.status} ${text}`).toContain(`"code":"${code}"`);
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  return JSON.parse(text);
}

test('PATCH works at once for both versions while all parts are down, and POST and DELETE are 503', async () => {
  const [port] = await findFreePorts(1);
  const base = `http://127.0.0.1:${port}`;
  // Sign before the start, which waits only two seconds for the other parts.
  const body = { data: signTestQuote(quoteV0), minOutput: { amount: '5' } };
  let isStarted = false;
  const starting = start({ PORT: String(port) }).finally(() => {
    isStarted = true;
  });
  // The start is awaited below. Until then its failure must not end the run.
  starting.catch(() => undefined);
  let early: Response | undefined;
  while (early === undefined && !isStarted) early = await send(base, body).catch(() => undefined);
  // The start still waits for the other parts.
  expect([early?.status, isStarted]).toEqual([200, false]);
  await starting;
  for (const quote of [quoteV0, quoteV1]) {
    const response = await send(base, { data: signTestQuote(quote), minOutput: { amount: '0x7b' } });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    const patched = await response.text();
    expect(patched).toMatch(/^0x[0-9a-f]+$/);
    expect(readTestQuote(patched)).toMatchObject({ ...quote, minOutput: 123n, signer: serviceSigner });
  }
  const orders = `${base}/v0alpha/limit-orders`;
  const hash = `0x${'11'.repeat(32)}`;
  for (const response of [
    await fetch(orders, { method: 'POST', headers: json, body: '[]' }),
    await fetch(`${orders}?orderHashes=${hash}&signatures=0x${'11'.repeat(65)}`, { method: 'DELETE' }),
  ]) {
    expect(await expectProblem(response, 503, 'unavailable')).toMatchObject({ retryable: true });
  }
  expect((await fetch(`http://127.0.0.1:${running[0]?.opsPort}/readyz`)).status).toBe(503);
  expect((await fetch(`http://127.0.0.1:${running[0]?.opsPort}/livez`)).status).toBe(200);
});

test('without a key PATCH answers 503, and the service logs the reason once', async () => {
  const before = lines.length;
  const base = await start({ QUOTE_SIGNER_KEY: '' });
  const body = { data: signTestQuote(quoteV0), minOutput: { amount: '5' } };
  for (let request = 0; request < 3; request += 1) {
    const { detail } = await expectProblem(await send(base, body), 503, 'unavailable');
    expect(detail).toMatch(/QUOTE_SIGNER_KEY/);
  }
  expect(lines.slice(before).filter((line) => line.includes('quotes are not patched'))).toHaveLength(1);
});

describe('a log that comes later', () => {
  async function openLog(partitions: number) {
    const parts = testParts();
    const prefix = `patch-${randomBytes(5).toString('hex')}.`;
    const gate = await openTcpGate(`kafka://${parts.kafkaBrokers}`);
    const databaseUrl = await parts.databaseUrl();
    await migrate({ url: databaseUrl });
    const log = connectLog({ brokers: [parts.kafkaBrokers], clientId: 'patch-test', logger: silentLogger });
    const specs = topicSpecs(topicNames(prefix), partitions);
    await log.createTopics(specs.map((spec) => ({ ...spec, replicationFactor: 1 })));
    await log.close();
    const environment = {
      KAFKA_BROKERS: new URL(gate.url).host,
      DATABASE_URL: databaseUrl,
      REDIS_URL: parts.redisUrl,
      REDIS_KEY_PREFIX: prefix,
      TOPIC_PREFIX: prefix,
      PARTITIONS: '2',
    };
    return { gate, environment };
  }

  test('makes the service ready, which patches quotes even before that', async () => {
    const { gate, environment } = await openLog(2);
    await gate.shut();
    const base = await start(environment);
    const body = { data: signTestQuote(quoteV0), minOutput: { amount: '5' } };
    expect((await send(base, body)).status).toBe(200);
    const ready = () => fetch(`http://127.0.0.1:${running[0]?.opsPort}/readyz`);
    expect((await ready()).status).toBe(503);
    await gate.open();
    await until('the service is ready', async () => (await ready()).status === 200);
    const post = await fetch(`${base}/v0alpha/limit-orders`, { method: 'POST', headers: json, body: '[]' });
    await expectProblem(post, 400, 'invalid_request');
    await gate.close();
  });

  test('with another number of partitions ends the service, at its start or later', async () => {
    const { gate, environment } = await openLog(3);
    // If a start finds no broker in time, the service goes on, and ends once it finds one.
    const end = await start(environment).then(
      () => running[0]?.failed,
      (error: unknown) => error,
    );
    expect(end).toBeInstanceOf(TopicMismatch);
    for (const service of running.splice(0)) await service.stop();
    await gate.shut();
    await start(environment);
    await gate.open();
    expect(await running[0]?.failed).toBeInstanceOf(TopicMismatch);
    await gate.close();
  });
});
