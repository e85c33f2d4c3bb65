import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { kafkaSettings } from './deployment.js';
import { kafkaConnection } from './kafka-connection.js';
import { readSettings } from './settings.js';

describe('the connection to Kafka', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'makerbook-settings-'));
    for (const name of ['ca', 'cert', 'key', 'password', 'token']) writeFileSync(join(folder, name), `${name}\n`);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const connect = (environment: Record<string, string>) =>
    kafkaConnection(readSettings(kafkaSettings, { KAFKA_BROKERS: 'a:1,b:2', ...environment }));

  test('is plain unless told otherwise', () => {
    expect(connect({})).toEqual({ brokers: ['a:1', 'b:2'] });
  });

  test('is encrypted, with an authority and a certificate from files or without', () => {
    expect(connect({ KAFKA_TLS: 'on' }).tls).toEqual({});
    const files = {
      KAFKA_TLS_CA_FILE: join(folder, 'ca'),
      KAFKA_TLS_CERT_FILE: join(folder, 'cert'),
      KAFKA_TLS_KEY_FILE: join(folder, 'key'),
    };
    expect(connect({ KAFKA_TLS: 'on', ...files }).tls).toEqual({ ca: 'ca', cert: 'cert', key: 'key' });
    expect(() => connect(files)).toThrow('KAFKA_TLS=on');
    expect(() => connect({ KAFKA_TLS: 'on', KAFKA_TLS_CERT_FILE: join(folder, 'cert') })).toThrow('together');
    expect(() => connect({ KAFKA_TLS: 'on', KAFKA_TLS_CA_FILE: join(folder, 'no') })).toThrow(/CA_FILE=.*ENOENT/);
  });

  test('authenticates with a secret that is read again at each connection', () => {
    const environment = { KAFKA_SASL_MECHANISM: 'SCRAM-SHA-256', KAFKA_SASL_PASSWORD_FILE: join(folder, 'password') };
    expect(() => connect(environment)).toThrow('KAFKA_SASL_USERNAME');
    const { sasl } = connect({ ...environment, KAFKA_SASL_USERNAME: 'me' });
    if (sasl?.mechanism !== 'SCRAM-SHA-256') throw new Error('not SCRAM');
    expect([sasl.username, sasl.password()]).toEqual(['me', 'password']);
    writeFileSync(join(folder, 'password'), 'renewed');
    expect(sasl.password()).toBe('renewed');
    const bearer = connect({ KAFKA_SASL_MECHANISM: 'OAUTHBEARER', KAFKA_SASL_TOKEN_FILE: join(folder, 'token') }).sasl;
    if (bearer?.mechanism !== 'OAUTHBEARER') throw new Error('not OAUTHBEARER');
    expect(bearer.token()).toBe('token');
    expect(() => connect({ KAFKA_SASL_MECHANISM: 'OAUTHBEARER' })).toThrow('KAFKA_SASL_TOKEN_FILE');
    expect(() => connect({ KAFKA_SASL_MECHANISM: 'GSSAPI' })).toThrow('must be one of');
  });
});
