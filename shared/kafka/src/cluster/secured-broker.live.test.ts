import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createAuthority, findFreePorts, type KafkaOptions, type KafkaPart, startKafka, until } from '@makerbook/parts';
import { kafkaConnection, kafkaSettings, readSettings } from '@makerbook/settings';
import { connectLog } from '../connect-log.js';
import { LogUnavailable } from '../failures.js';
import { makeTopic, quiet, readAll, recordOf } from '../testing/open-test-log.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-kafka-'));
const inFolder = (name: string) => join(folder, name);
let kafka: KafkaPart;
let restart: () => Promise<KafkaPart>;
let secured: string;

beforeAll(async () => {
  const authority = createAuthority(folder);
  const broker = authority.sign('broker', 'IP:127.0.0.1');
  authority.sign('client');
  createAuthority(folder, 'stranger-ca');
  const keystore = readFileSync(broker.keyFile, 'utf8') + readFileSync(broker.certFile, 'utf8');
  writeFileSync(inFolder('keystore.pem'), keystore);
  writeFileSync(inFolder('password'), 'secret\n');
  writeFileSync(inFolder('wrong'), 'guess\n');
  writeFileSync(inFolder('token'), unsecuredToken());
  const [port = 0, securedPort = 0, controllerPort = 0] = await findFreePorts(3);
  secured = `127.0.0.1:${securedPort}`;
  const plain = `PLAINTEXT://127.0.0.1:${port},SECURED://${secured}`;
  const jaas = 'org.apache.kafka.common.security';
  const sasl = 'listener.name.secured';
  const options: KafkaOptions = {
    dataDir: inFolder('data'),
    port,
    cluster: { nodeId: 1, brokers: 1, clusterId: 'bWFrZXJib29rLXNlY3VyZQ', controllerPorts: [controllerPort] },
    formatArguments: ['256', '512'].flatMap((bits) => [
      '--add-scram',
      `SCRAM-SHA-${bits}=[name=maker,password=secret,iterations=4096]`,
    ]),
    properties: {
      listeners: `${plain},CONTROLLER://127.0.0.1:${controllerPort}`,
      'advertised.listeners': plain,
      'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURED:SASL_SSL',
      'inter.broker.listener.name': 'PLAINTEXT',
      'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
      [`${sasl}.plain.sasl.jaas.config`]: `${jaas}.plain.PlainLoginModule required user_maker="secret";`,
      [`${sasl}.scram-sha-256.sasl.jaas.config`]: `${jaas}.scram.ScramLoginModule required;`,
      [`${sasl}.scram-sha-512.sasl.jaas.config`]: `${jaas}.scram.ScramLoginModule required;`,
      [`${sasl}.oauthbearer.sasl.jaas.config`]: `${jaas}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`,
      [`${sasl}.ssl.keystore.type`]: 'PEM',
      [`${sasl}.ssl.keystore.location`]: inFolder('keystore.pem'),
      [`${sasl}.ssl.truststore.type`]: 'PEM',
      [`${sasl}.ssl.truststore.location`]: inFolder('ca.pem'),
      [`${sasl}.ssl.client.auth`]: 'required',
    },
  };
  restart = () => startKafka(options);
  kafka = await restart();
});
afterAll(async () => {
  await kafka?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** An unsigned token, which brokers accept in tests. */
function unsecuredToken(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(Date.now() / 1_000);
  return `${part({ alg: 'none' })}.${part({ sub: 'maker', iat: now, exp: now + 3_600 })}.`;
}

/** Connects as a service does, from its settings. */
function connect(environment: Record<string, string>) {
  const given = {
    KAFKA_BROKERS: secured,
    KAFKA_TLS: 'on',
    KAFKA_TLS_CA_FILE: inFolder('ca.pem'),
    KAFKA_TLS_CERT_FILE: inFolder('client.pem'),
    KAFKA_TLS_KEY_FILE: inFolder('client.key'),
    KAFKA_SASL_USERNAME: 'maker',
    KAFKA_SASL_PASSWORD_FILE: inFolder('password'),
    KAFKA_SASL_TOKEN_FILE: inFolder('token'),
    ...environment,
  };
  return connectLog({ ...kafkaConnection(readSettings(kafkaSettings, given)), clientId: 'test', logger: quiet });
}

test.each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER'])(
  'records are written, also in a transaction, and read over TLS with %s',
  async (mechanism) => {
    const log = connect({ KAFKA_SASL_MECHANISM: mechanism });
    try {
      const topic = await makeTopic(log, 2);
      const appender = log.createAppender({ timeoutMs: 60_000 });
      await appender.append([recordOf(topic, 0, 'one')]);
      await appender.append([recordOf(topic, 0, 'two'), recordOf(topic, 1, 'three')]);
      expect(await readAll(log, topic)).toEqual([['one', 'two'], ['three']]);
    } finally {
      await log.close();
    }
  },
);

/** The fault, the settings that cause it, and a pattern for the error. */
const refused: readonly (readonly [string, Record<string, string>, RegExp])[] = [
  ['a wrong password', { KAFKA_SASL_PASSWORD_FILE: inFolder('wrong') }, /authentication failed/i],
  ['a broker of another authority', { KAFKA_TLS_CA_FILE: inFolder('stranger-ca.pem') }, /certificate/],
  ['no certificate of its own', { KAFKA_TLS_CERT_FILE: '', KAFKA_TLS_KEY_FILE: '' }, /./],
  ['no TLS', { KAFKA_TLS: 'off', KAFKA_TLS_CA_FILE: '', KAFKA_TLS_CERT_FILE: '', KAFKA_TLS_KEY_FILE: '' }, /./],
];

test(`with ${refused.map(([what]) => what).join(', ')} nothing is answered, and the reason is in the error`, async () => {
  // Run these in parallel: each is retried until its time is over.
  const errors = await Promise.all(
    refused.map(async ([what, environment]) => {
      const log = connect({ KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512', ...environment });
      const error: unknown = await log.partitionsOf('any', { timeoutMs: 20_000 }).catch((error: unknown) => error);
      await log.close();
      return { what, isUnavailable: error instanceof LogUnavailable, message: String(error) };
    }),
  );
  expect(errors).toEqual(
    refused.map(([what, , reason]) => ({ what, isUnavailable: true, message: expect.stringMatching(reason) })),
  );
});

test('a log goes on after the authority and both certificates are renewed, and keeps its records', async () => {
  const own = { CA: 'own-ca.pem', CERT: 'own.pem', KEY: 'own.key' };
  const give = (ca: string, name: string) => {
    writeFileSync(inFolder(own.CA), ca);
    for (const end of ['pem', 'key']) writeFileSync(inFolder(`own.${end}`), readFileSync(inFolder(`${name}.${end}`)));
  };
  const old = readFileSync(inFolder('ca.pem'), 'utf8');
  give(old, 'client');
  const renewed = createAuthority(folder, 'renewed-ca');
  const broker = renewed.sign('broker-2', 'IP:127.0.0.1');
  renewed.sign('client-2');
  const files = Object.entries(own).map(([part, name]) => [`KAFKA_TLS_${part}_FILE`, inFolder(name)]);
  const log = connect({ KAFKA_SASL_MECHANISM: 'PLAIN', ...Object.fromEntries(files) });
  try {
    const topic = await makeTopic(log, 1);
    const appender = log.createAppender({ timeoutMs: 60_000 });
    const acknowledged: string[] = [];
    let isOver = false;
    const load = (async () => {
      for (let number = 0; !isOver; number += 1) {
        const stored = await appender.append([recordOf(topic, 0, String(number))]).catch(() => undefined);
        if (stored !== undefined) acknowledged.push(String(number));
      }
    })();
    await until(() => acknowledged.length > 10);
    await kafka.stop();
    writeFileSync(inFolder('ca.pem'), readFileSync(renewed.caFile));
    writeFileSync(
      inFolder('keystore.pem'),
      readFileSync(broker.keyFile, 'utf8') + readFileSync(broker.certFile, 'utf8'),
    );
    give(readFileSync(renewed.caFile, 'utf8'), 'client-2');
    kafka = await restart();
    const before = acknowledged.length;
    await until(() => acknowledged.length > before + 10);
    isOver = true;
    await load;
    const [stored] = await readAll(log, topic);
    expect(acknowledged.filter((value) => !stored?.includes(value))).toEqual([]);
  } finally {
    await log.close();
  }
});
