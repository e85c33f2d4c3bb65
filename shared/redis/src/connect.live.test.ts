import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createAuthority,
  createRedisUser,
  findFreePort,
  isPortFree,
  openTcpGate,
  startRedis,
  type TcpGate,
  testParts,
} from '@makerbook/parts';
import { readSettings, redisConnection, redisSettings } from '@makerbook/settings';
import { connectRedis, type RedisConnection, RedisUnavailable, type RedisUnusable } from './index.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-redis-'));
const inFolder = (name: string) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const warnings: string[] = [];
const logger = {
  info: () => {},
  warn: (fields: object, message: string) => void warnings.push(JSON.stringify({ message, ...fields })),
};
const SLOW = { logger, commandTimeoutMs: 60_000, connectTimeoutMs: 60_000 };

/** As a service connects: from its settings. */
async function withRedis(
  environment: Record<string, string>,
  work: (redis: RedisConnection) => Promise<void>,
): Promise<void> {
  warnings.length = 0;
  const redis = connectRedis({ ...redisConnection(readSettings(redisSettings, environment)), ...SLOW });
  try {
    await work(redis);
  } finally {
    await redis.close();
  }
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within 60 s; warnings: ${warnings.join()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** A free port for a Redis of a cluster, whose bus listens 10,000 above: below the ports of outgoing connections too. */
async function findPortWithBus(): Promise<number> {
  for (;;) {
    const port = await findFreePort();
    if (port < 22_000 && (await isPortFree(port + 10_000, '127.0.0.1'))) return port;
  }
}

describe('over TLS', () => {
  let gate: TcpGate;
  let environment: Record<string, string>;

  beforeAll(async () => {
    const authority = createAuthority(folder);
    const server = authority.sign('server', 'IP:127.0.0.1');
    authority.sign('client');
    createAuthority(folder, 'stranger-ca');
    // The Redis that the project brings along has no TLS of its own on every machine.
    gate = await openTcpGate(testParts().redisUrl, {
      cert: readFileSync(server.certFile),
      key: readFileSync(server.keyFile),
      ca: readFileSync(authority.caFile),
      requestCert: true,
    });
    environment = {
      REDIS_URL: gate.url,
      REDIS_TLS: 'on',
      REDIS_TLS_CA_FILE: inFolder('ca.pem'),
      REDIS_TLS_CERT_FILE: inFolder('client.pem'),
      REDIS_TLS_KEY_FILE: inFolder('client.key'),
    };
  });
  afterAll(() => gate?.close());

  test('commands are answered, with an authority and a certificate from files, and again after the connection was lost', async () => {
    await withRedis(environment, async (redis) => {
      expect(await redis.waitUntilReady(60_000)).toBe(true);
      expect(await redis.attempt((client) => client.ping())).toBe('PONG');
      await gate.shut();
      await until(async () => !(await redis.isThere()));
      await gate.open();
      await until(redis.isThere);
      expect(await redis.attempt((client) => client.ping())).toBe('PONG');
    });
  });

  test.each([
    [
      'a server of another authority',
      () => ({ REDIS_TLS_CA_FILE: inFolder('stranger-ca.pem') }),
      /certificate|self-signed/,
    ],
    [
      'a server of another name',
      () => ({ REDIS_URL: gate.url.replace('127.0.0.1', 'localhost') }),
      /does not match certificate/,
    ],
    ['no certificate of its own', () => ({ REDIS_TLS_CERT_FILE: '', REDIS_TLS_KEY_FILE: '' }), /certificate/],
  ])('with %s nothing is sent, and the reason is logged', async (_, other, reason) => {
    await withRedis({ ...environment, ...other() }, async (redis) => {
      await until(() => warnings.some((warning) => reason.test(warning)));
      expect(await redis.isThere()).toBe(false);
      await expect(redis.attempt((client) => client.ping())).rejects.toBeInstanceOf(RedisUnavailable);
    });
  });
});

test('a user is let in by a password out of a file, and a renewed one counts from the next try', async () => {
  const user = await createRedisUser(testParts().redisUrl, 'query', 'mine:');
  const url = new URL(user.url);
  const { password } = url;
  url.password = '';
  writeFileSync(inFolder('password'), 'guess\n');
  try {
    await withRedis({ REDIS_URL: url.href, REDIS_PASSWORD_FILE: inFolder('password') }, async (redis) => {
      await until(() => warnings.some((warning) => /WRONGPASS/.test(warning)));
      writeFileSync(inFolder('password'), `${password}\n`);
      await until(redis.isThere);
      expect(await redis.attempt((client) => client.set('mine:g:1', '1', 'PX', 60_000))).toBe('OK');
      await expect(redis.attempt((client) => client.get('mine:g:1'))).rejects.toThrow('NOPERM');
      await expect(redis.attempt((client) => client.set('theirs:g:1', '1'))).rejects.toThrow('NOPERM');
    });
  } finally {
    await user.remove();
  }
});

test.each([
  ['cluster', { 'cluster-enabled': 'yes' }],
  ['sentinel', {}],
])('a Redis in %s mode is refused with a reason', async (mode, settings) => {
  const port = await findPortWithBus();
  const part = await startRedis({ dataDir: inFolder(mode), port, settings, isSentinel: mode === 'sentinel' });
  try {
    const refused = new Promise<RedisUnusable>((resolve) => {
      const redis = connectRedis({
        url: part.url,
        keyPrefix: 'mb:',
        ...SLOW,
        onFatal: (error) => void redis.close().then(() => resolve(error)),
      });
    });
    expect((await refused).message).toContain(`REDIS_URL leads to a Redis in ${mode} mode`);
  } finally {
    await part.stop();
  }
});
