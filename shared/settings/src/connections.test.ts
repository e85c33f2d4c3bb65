import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { kafkaConnection, postgresConnection, redisConnection } from './connections.js';
import { kafkaSettings, postgresSettings, redisSettings } from './deployment.js';
import { readSettings } from './settings.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-settings-'));
for (const name of ['ca', 'cert', 'key', 'password', 'token']) writeFileSync(join(folder, name), `${name}\n`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Environment = Record<string, string>;
const toKafka = (environment: Environment) =>
  kafkaConnection(readSettings(kafkaSettings, { KAFKA_BROKERS: 'a:1,b:2', ...environment }));
const toPostgres = (environment: Environment) =>
  postgresConnection(readSettings(postgresSettings, { DATABASE_URL: 'postgres://me@h:1/d', ...environment }));
const toRedis = (environment: Environment) =>
  redisConnection(readSettings(redisSettings, { REDIS_URL: 'redis://me@h:1/0', ...environment }));

describe.each<[string, (environment: Environment) => { readonly tls?: object }]>([
  ['KAFKA', toKafka],
  ['DATABASE', toPostgres],
  ['REDIS', toRedis],
])('TLS by the settings %s_TLS…', (prefix, connect) => {
  test('is off unless it is switched on', () => {
    expect(connect({}).tls).toBeUndefined();
    expect(connect({ [`${prefix}_TLS`]: 'on' }).tls).toEqual({});
  });

  test('takes an authority, and a certificate with its key, from files', () => {
    const on = { [`${prefix}_TLS`]: 'on' };
    const file = (kind: string, name: string) => ({ [`${prefix}_TLS_${kind}_FILE`]: join(folder, name) });
    const files = { ...file('CA', 'ca'), ...file('CERT', 'cert'), ...file('KEY', 'key') };
    expect(connect({ ...on, ...files }).tls).toEqual({ ca: 'ca', cert: 'cert', key: 'key' });
    expect(() => connect(files)).toThrow(`${prefix}_TLS=on`);
    const { tls } = connect({ ...on, ...files });
    writeFileSync(join(folder, 'ca'), 'renewed\n');
    expect(tls).toEqual({ ca: 'renewed', cert: 'cert', key: 'key' });
    rmSync(join(folder, 'ca'));
    expect(tls).toEqual({ ca: 'renewed', cert: 'cert', key: 'key' });
    writeFileSync(join(folder, 'ca'), 'ca\n');
    expect(() => connect({ ...on, ...file('CERT', 'cert') })).toThrow('together');
    expect(() => connect({ ...on, ...file('CA', 'no') })).toThrow(/CA_FILE=.*ENOENT/);
  });
});

test('Kafka is reached without TLS and authentication unless they are set', () => {
  expect(toKafka({})).toEqual({ brokers: ['a:1', 'b:2'] });
});

test('each mechanism of Kafka needs its own credentials', () => {
  const environment = { KAFKA_SASL_MECHANISM: 'SCRAM-SHA-256', KAFKA_SASL_PASSWORD_FILE: join(folder, 'password') };
  expect(() => toKafka(environment)).toThrow('KAFKA_SASL_USERNAME');
  const { sasl } = toKafka({ ...environment, KAFKA_SASL_USERNAME: 'me' });
  if (sasl?.mechanism !== 'SCRAM-SHA-256') throw new Error('not SCRAM');
  expect([sasl.username, sasl.password()]).toEqual(['me', 'password']);
  const bearer = toKafka({ KAFKA_SASL_MECHANISM: 'OAUTHBEARER', KAFKA_SASL_TOKEN_FILE: join(folder, 'token') }).sasl;
  if (bearer?.mechanism !== 'OAUTHBEARER') throw new Error('not OAUTHBEARER');
  expect(bearer.token()).toBe('token');
  expect(() => toKafka({ KAFKA_SASL_MECHANISM: 'OAUTHBEARER' })).toThrow('KAFKA_SASL_TOKEN');
  expect(() => toKafka({ KAFKA_SASL_MECHANISM: 'PLAIN', KAFKA_SASL_USERNAME: 'me' })).toThrow('KAFKA_SASL_PASSWORD');
  expect(() => toKafka({ KAFKA_SASL_MECHANISM: 'GSSAPI' })).toThrow('must be one of');
});

describe.each<[string, string, (environment: Environment) => { readonly password?: () => string }]>([
  ['DATABASE', 'postgres:', toPostgres],
  ['REDIS', 'redis:', toRedis],
])('the address %s_URL', (prefix, protocol, connect) => {
  const url = (value: string) => ({ [`${prefix}_URL`]: value });

  test('has its password in it or in a file, not in both', () => {
    expect(connect({}).password).toBeUndefined();
    const file = { [`${prefix}_PASSWORD_FILE`]: join(folder, 'password') };
    expect(connect(file).password?.()).toBe('password');
    expect(() => connect({ ...file, ...url(`${protocol}//me:other@h:1/0`) })).toThrow('give one');
  });

  test('is refused if it sets TLS, which has its own settings', () => {
    expect(() => connect(url(`${protocol}//me@h:1/0?sslmode=require`))).toThrow(`set by ${prefix}_TLS`);
    expect(() => connect(url('rediss://me@h:1/0'))).toThrow(`begins with ${protocol}//; TLS is set by ${prefix}_TLS`);
    expect(() => connect(url('h:1'))).toThrow('must be a URL');
  });
});

describe('Redis', () => {
  test('is optional, and is one server unless its mode is set', () => {
    expect(toRedis({ REDIS_URL: '' })).toMatchObject({ url: '', mode: 'single' });
    const several = 'redis://a:1, redis://b:2';
    expect(() => toRedis({ REDIS_URL: several })).toThrow('REDIS_MODE=cluster');
    expect(toRedis({ REDIS_URL: several, REDIS_MODE: 'cluster' })).toMatchObject({ url: several, mode: 'cluster' });
    expect(() => toRedis({ REDIS_URL: 'redis://a:1,b:2', REDIS_MODE: 'cluster' })).toThrow('begins with redis://');
    const second = { REDIS_URL: 'redis://a:1,redis://me:other@b:2', REDIS_MODE: 'cluster' };
    expect(() => toRedis({ ...second, REDIS_PASSWORD_FILE: join(folder, 'password') })).toThrow('give one');
  });

  test('is found by Sentinels, which may have a password of their own', () => {
    const environment = { REDIS_MODE: 'sentinel', REDIS_SENTINEL_MASTER: 'cache' };
    const found = { url: 'redis://me@h:1/0', mode: 'sentinel', sentinelMaster: 'cache', keyPrefix: 'mb:' };
    expect(toRedis(environment)).toEqual(found);
    const file = { REDIS_SENTINEL_PASSWORD_FILE: join(folder, 'password') };
    expect(toRedis({ ...environment, ...file }).sentinelPassword?.()).toBe('password');
  });
});
