import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import {
  createAuthority,
  createRedisUser,
  findFreePort,
  findFreePorts,
  isPortFree,
  openTcpGate,
  startRedis,
  type TcpGate,
  testParts,
  until,
} from '@makerbook/parts';
import { readSettings, redisConnection, redisSettings } from '@makerbook/settings';
import { Redis } from 'ioredis';
import { connectRedis, type RedisConnection } from './connect.js';
import { createReplayGuard, type ReplayGuard } from './guard-replays.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-redis-'));
const inFolder = (name: string) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const warnings: string[] = [];
const logger = {
  info: () => {},
  warn: (fields: object, message: string) => void warnings.push(JSON.stringify({ message, ...fields })),
};
const SLOW = { logger, commandTimeoutMs: 60_000, connectTimeoutMs: 60_000 };

/** Connects as a service does, from its settings. */
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

/** A free port for a Redis of a cluster. Its bus listens 10,000 above, also below the ports of outgoing connections. */
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
    // The Redis that the project brings along lacks TLS on some machines.
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

  test('commands work with an authority and a certificate from files, and again after a lost connection', async () => {
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

  test('a connection opened after a renewal uses the renewed authority and certificate', async () => {
    const own = { REDIS_TLS_CA_FILE: inFolder('own-ca.pem'), REDIS_TLS_CERT_FILE: inFolder('own.pem') };
    const give = (ca: string, name: string) => {
      writeFileSync(inFolder('own-ca.pem'), readFileSync(inFolder(ca)));
      for (const end of ['pem', 'key']) writeFileSync(inFolder(`own.${end}`), readFileSync(inFolder(`${name}.${end}`)));
    };
    give('ca.pem', 'client');
    const given = { ...environment, ...own, REDIS_TLS_KEY_FILE: inFolder('own.key') };
    const renewed = createAuthority(folder, 'renewed-ca');
    renewed.sign('client-2');
    const server = renewed.sign('server-2', 'IP:127.0.0.1');
    await withRedis(given, async (redis) => {
      await until(redis.isThere);
      gate.renew({
        cert: readFileSync(server.certFile),
        key: readFileSync(server.keyFile),
        ca: readFileSync(renewed.caFile),
      });
      // The existing connection still works.
      expect(await redis.attempt((client) => client.ping())).toBe('PONG');
      give('renewed-ca.pem', 'client-2');
      await gate.shut();
      await until(async () => !(await redis.isThere()));
      await gate.open();
      await until(redis.isThere);
    });
    const first = (name: string) => readFileSync(inFolder(name));
    gate.renew({ cert: first('server.pem'), key: first('server.key'), ca: first('ca.pem') });
    await gate.shut();
    await gate.open();
  });

  test.each([
    ['a server of another authority', { REDIS_TLS_CA_FILE: inFolder('stranger-ca.pem') }, /certificate|self-signed/],
    ['a server of another name', 'localhost', /does not match certificate/],
    ['no certificate of its own', { REDIS_TLS_CERT_FILE: '', REDIS_TLS_KEY_FILE: '' }, /certificate/],
  ])('with %s nothing is sent, and the reason is logged', async (_, given, reason) => {
    const other = typeof given === 'string' ? { REDIS_URL: gate.url.replace('127.0.0.1', given) } : given;
    await withRedis({ ...environment, ...other }, async (redis) => {
      await until(() => warnings.some((warning) => reason.test(warning)));
      expect(await redis.isThere()).toBe(false);
      expect(await redis.attempt((client) => client.ping())).toBeUndefined();
    });
  });
});

test('a user logs in with a password from a file, even a renewed one, with only the rights query needs', async () => {
  const user = await createRedisUser(testParts().redisUrl, 'query', 'mine:');
  const url = new URL(user.url);
  const { password } = url;
  url.password = '';
  writeFileSync(inFolder('password'), 'guess\n');
  try {
    const given = { REDIS_URL: url.href, REDIS_PASSWORD_FILE: inFolder('password'), REDIS_KEY_PREFIX: 'mine:' };
    await withRedis(given, async (redis) => {
      await until(() => warnings.some((warning) => /WRONGPASS/.test(warning)));
      writeFileSync(inFolder('password'), `${password}\n`);
      await until(redis.isThere);
      expect(await redis.attempt((client) => client.set('mine:g:1', '1', 'PX', 60_000))).toBe('OK');
      await redis.attempt(async (client) => {
        await expect(client.incr('mine:g:1')).rejects.toThrow('NOPERM');
        await expect(client.set('theirs:g:1', '1')).rejects.toThrow('NOPERM');
      });
      await expectItWorks(redis);
    });
  } finally {
    await user.remove();
  }
});

/** Uses Redis as the service does, with one prefix for all keys. */
async function expectItWorks(redis: RedisConnection): Promise<void> {
  const budget = { ratePerSecond: 1, burst: 5 };
  const guard = createReplayGuard(redis, { windowMs: 60_000, budget, localSaltsMax: 1 });
  for (let n = 1; n <= 20; n += 1) {
    const maker: Hex = `0x${String(n).padStart(40, '0')}`;
    const salt: Hex = `0x${randomBytes(32).toString('hex')}`;
    expect(await guard.takeSalt({ signer: maker, maker }, salt, 0)).toEqual({ kind: 'taken', remaining: 4 });
    // The process has room for one salt: it forgets the first.
    await guard.takeSalt({ signer: maker, maker }, '0x1', 0);
    expect(await guard.takeSalt({ signer: maker, maker }, salt, 0)).toEqual({ kind: 'used' });
    await guard.releaseSalt(maker, salt);
    expect(await guard.takeSalt({ signer: maker, maker }, salt, 0)).toEqual({ kind: 'taken', remaining: 2 });
    // In a cluster, the salts of a key are on another server than the maker's budget.
    const ofKey = { signer: `0x${randomBytes(20).toString('hex')}`, maker } as const;
    expect(await guard.takeSalt(ofKey, salt, 0)).toEqual({ kind: 'taken', remaining: 1 });
    await guard.takeSalt(ofKey, '0x2', 0);
    expect(await guard.takeSalt(ofKey, salt, 0)).toEqual({ kind: 'used' });
  }
}

test('a Redis Cluster serves each call from the server that has its keys, and again after it was away', async () => {
  const ports = [await findPortWithBus(), await findPortWithBus()] as const;
  const parts = await Promise.all(
    ports.map((port) => startRedis({ dataDir: inFolder(`node-${port}`), port, settings: clusterSettings })),
  );
  try {
    await ask(ports[0], `CLUSTER MEET 127.0.0.1 ${ports[1]}`);
    // Redis 6 does not accept a range of slots.
    const slots = Array.from({ length: 16_384 }, (_, slot) => slot);
    await ask(ports[0], `CLUSTER ADDSLOTS ${slots.slice(0, 8_192).join(' ')}`);
    await ask(ports[1], `CLUSTER ADDSLOTS ${slots.slice(8_192).join(' ')}`);
    for (const port of ports) await until(async () => (await ask(port, 'CLUSTER INFO')).includes('cluster_state:ok'));
    await until(async () => (await ask(ports[0], 'CLUSTER SLOTS')).includes(String(ports[1])));
    const url = `redis://127.0.0.1:${ports[0]}`;
    await withRedis({ REDIS_URL: `${url}, redis://127.0.0.1:${ports[1]}`, REDIS_MODE: 'cluster' }, async (redis) => {
      expect(await redis.waitUntilReady(60_000)).toBe(true);
      await expectItWorks(redis);
      for (const port of ports) expect(await ask(port, 'DBSIZE')).not.toBe('0');
      for (const port of ports) await ask(port, 'CLIENT KILL TYPE normal');
      for (const key of ['mb:g:{1}', 'mb:g:{2}'])
        await until(async () => (await redis.attempt((client) => client.get(key))) === null);
    });
  } finally {
    await Promise.all(parts.map((part) => part.stop()));
  }
});

const clusterSettings = { 'cluster-enabled': 'yes', 'cluster-node-timeout': '2000' };

test('the primary that Sentinels name serves all calls, and so does its successor after a failover', async () => {
  const [primaryPort, replicaPort, sentinelPort] = (await findFreePorts(3)) as [number, number, number];
  const primary = await startRedis({ dataDir: inFolder('primary'), port: primaryPort });
  const parts = [primary];
  try {
    parts.push(await startRedis({ dataDir: inFolder('replica'), port: replicaPort }));
    parts.push(await startRedis({ dataDir: inFolder('sentinel'), port: sentinelPort, isSentinel: true }));
    await ask(primaryPort, 'CONFIG SET repl-diskless-sync-delay 0');
    await ask(replicaPort, `REPLICAOF 127.0.0.1 ${primaryPort}`);
    await until(async () => (await ask(primaryPort, 'INFO replication')).includes('state=online'));
    await ask(sentinelPort, `SENTINEL MONITOR cache 127.0.0.1 ${primaryPort} 1`);
    await ask(sentinelPort, 'SENTINEL SET cache auth-pass secret');
    // A failover that is tried too early is not retried for a long time.
    await until(async () => (await ask(sentinelPort, 'SENTINEL REPLICAS cache')).includes('"master-link-status","ok"'));
    // Set the passwords only now: a Sentinel that connects before it knows them may be refused for longer than this
    // test waits.
    for (const port of [primaryPort, replicaPort]) {
      await ask(port, 'CONFIG SET masterauth secret');
      await ask(port, 'CONFIG SET requirepass secret');
    }
    await ask(sentinelPort, 'SENTINEL SET cache failover-timeout 3000');
    await ask(sentinelPort, 'SENTINEL SET cache down-after-milliseconds 1000');
    const environment = {
      REDIS_URL: `redis://127.0.0.1:${sentinelPort}`,
      REDIS_MODE: 'sentinel',
      REDIS_SENTINEL_MASTER: 'cache',
      REDIS_PASSWORD: 'secret',
    };
    await withRedis(environment, async (redis) => {
      expect(await redis.waitUntilReady(60_000)).toBe(true);
      await expectItWorks(redis);
      await primary.stop();
      // The replica closes its connections while it becomes the primary.
      await until(async () => (await ask(replicaPort, 'ROLE', 'secret').catch(() => '')).includes('master'));
      await until(redis.isThere);
      await redis.attempt((client) => client.flushall());
      await expectItWorks(redis);
    });
  } finally {
    await Promise.all(parts.map((part) => part.stop()));
  }
});

test('each try to reach a Sentinel uses the password that its file has then', async () => {
  let seen = '';
  const sentinel = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (data) => {
      seen = String(data);
      socket.end('-WRONGPASS invalid password\r\n');
    });
  });
  await once(sentinel.listen(0, '127.0.0.1'), 'listening');
  const file = inFolder('sentinel-password');
  writeFileSync(file, 'before-renewal');
  const environment = {
    REDIS_URL: `redis://127.0.0.1:${(sentinel.address() as AddressInfo).port}`,
    REDIS_MODE: 'sentinel',
    REDIS_SENTINEL_PASSWORD_FILE: file,
  };
  await withRedis(environment, async () => {
    await until(() => seen.includes('before-renewal'));
    writeFileSync(file, 'after-renewal');
    await until('the renewed password is tried', () => seen.includes('after-renewal'));
  }).finally(() => sentinel.close());
});

test('a full Redis counts as away, so each process checks salts itself', async () => {
  const port = await findFreePort();
  const part = await startRedis({ dataDir: inFolder('full'), port, settings: { 'maxmemory-policy': 'noeviction' } });
  try {
    await withRedis({ REDIS_URL: part.url }, async (redis) => {
      expect(await redis.waitUntilReady(60_000)).toBe(true);
      const maker: Hex = `0x${'a1'.repeat(20)}`;
      const budget = { ratePerSecond: 1, burst: 5 };
      const [before, guard] = [0, 1].map(() => createReplayGuard(redis, { windowMs: 60_000, budget })) as [
        ReplayGuard,
        ReplayGuard,
      ];
      await before.takeSalt({ signer: maker, maker }, '0x0', 0);
      await ask(port, 'CONFIG SET maxmemory 1');
      expect(await guard.takeSalt({ signer: maker, maker }, '0x1', 0)).toEqual({ kind: 'takenLocally' });
      expect(await guard.takeSalt({ signer: maker, maker }, '0x1', 0)).toEqual({ kind: 'used' });
    });
  } finally {
    await part.stop();
  }
});

/** Sends one command whose words have no blanks, and returns its whole answer. */
function ask(port: number, line: string, password?: string): Promise<string> {
  const client = new Redis({ port, ...(password && { password }), lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => undefined);
  const [name = '', ...args] = line.split(' ');
  return client
    .connect()
    .then(() => client.call(name, ...args))
    .then((answer) => (typeof answer === 'string' ? answer : JSON.stringify(answer)))
    .finally(() => client.disconnect());
}
