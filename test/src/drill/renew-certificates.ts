import { copyFileSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { awaitInSync } from '@makerbook/kafka/testing';
import {
  type Authority,
  createAuthority,
  findFreePorts,
  type KafkaOptions,
  openTcpGate,
  startKafka,
} from '@makerbook/parts';
import { connectPostgres } from '@makerbook/postgres';
import { eventually } from '../kit/eventually.js';
import { putOrdersOn } from '../kit/put-orders-on.js';
import { BROKERS, type DrillOptions, type DrillParts, ROUNDS_PER_SECOND } from './open-parts.js';
import { BROKER_AWAY_MS_MAX, tellSilence, topicsOf } from './tell-silence.js';

/** The kubelet takes longer to write a Secret's files. */
const MOUNTED_MS = 2_000;
const SERVER_SETTINGS = { ssl: 'on', ssl_cert_file: 'server.pem', ssl_key_file: 'server.key' };

/** An authority, and the certificates it signed for the server of each part and for the services. */
function makeCertificates(folder: string, name: string) {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  const authority = createAuthority(path, name);
  const read = (file: string) => readFileSync(file, 'utf8');
  const { certFile, keyFile } = authority.sign('server', 'IP:127.0.0.1');
  return { ca: read(authority.caFile), cert: read(certFile), key: read(keyFile), client: authority.sign('client') };
}

type Certificates = ReturnType<typeof makeCertificates>;
type Client = ReturnType<Authority['sign']>;

/** Renews the authority and every certificate. Services keep running, brokers roll twice, and Redis is restarted. */
export async function renewCertificates(parts: DrillParts, { loadMs }: DrillOptions): Promise<string[]> {
  const { folder } = parts;
  const [old, renewed] = [makeCertificates(folder, 'old'), makeCertificates(folder, 'renewed')];
  const both = old.ca + renewed.ca;
  const mount = openMount(join(folder, 'secret'));
  await mount.give(old.ca, old.client);
  const brokers = await startBrokers(parts, old);
  const postgres = await parts.start.postgres('postgres', { settings: SERVER_SETTINGS, files: serverFiles(old) });
  const redis = await openTcpGate(parts.redisUrl, old);
  parts.closing.push(redis.close);
  const stack = await parts.openStack(brokers.secured.join(), postgres.url, {
    TOPIC_REPLICATION_FACTOR: String(BROKERS),
    REDIS_URL: redis.url,
    ...tlsSettings('KAFKA', mount.files),
    ...tlsSettings('DATABASE', { CA: mount.files.CA }),
    ...tlsSettings('REDIS', { CA: mount.files.CA }),
  });
  // Tests read the log through the brokers' other listener.
  const kafkaBrokers = brokers.plain.join();
  const inside = {
    topicPrefix: stack.topicPrefix,
    addresses: { ...stack.addresses, kafkaBrokers },
    operatorEnvironment: { ...stack.operatorEnvironment, KAFKA_BROKERS: kafkaBrokers },
  };
  const inSync = () => awaitInSync(brokers.plain, BROKERS, topicsOf(stack));
  await inSync();
  const load = await putOrdersOn(inside, ROUNDS_PER_SECOND);
  parts.closing.push(load.close);
  await pause(loadMs);

  const wrong: string[] = [];
  const step = async (what: string, work: () => Promise<unknown>): Promise<readonly string[]> => {
    const [startMs, before] = [performance.now(), load.failures.length];
    await work();
    const failures = load.failures.slice(before);
    console.log(`${what}: ${((performance.now() - startMs) / 1000).toFixed(1)} s, ${failures.length} requests failed`);
    return failures;
  };
  // Requests that need a rolling broker may be refused until another one leads its partitions. No others may.
  const refuseNothing = async (...of: Parameters<typeof step>) => void wrong.push(...(await step(...of)));
  await refuseNothing('services trust the new authority beside the old one', () => mount.give(both, old.client));
  await step('brokers show a certificate of it, one after the other', () => brokers.roll(both, renewed, inSync));
  await refuseNothing('so does Postgres, which reads its files again', () =>
    postgres.replaceFiles(serverFiles(renewed)),
  );
  await refuseNothing('so does Redis, which is started again', async () => {
    await redis.shut();
    redis.renew(renewed);
    await redis.open();
  });
  await refuseNothing('services show one too, and trust it alone', () => mount.give(renewed.ca, renewed.client));
  await step('brokers trust it alone, one after the other', () => brokers.roll(renewed.ca, renewed, inSync));
  await pause(loadMs);
  const late = tellSilence(load, { requests: BROKER_AWAY_MS_MAX, feed: BROKER_AWAY_MS_MAX });
  wrong.push(...(await load.judge()), ...late);
  await endConnections(postgres.url);
  const place = () => load.makers[0]?.place({ amount: 1n }).then(({ length }) => length) ?? Promise.resolve(0);
  await eventually(place, 1);
  console.log('without its connections of before to Postgres, POST is answered too');
  return wrong;
}

const serverFiles = ({ cert, key }: Certificates) => ({ 'server.pem': cert, 'server.key': key });

const tlsSettings = (prefix: string, files: Readonly<Record<string, string>>) => ({
  [`${prefix}_TLS`]: 'on',
  ...Object.fromEntries(Object.entries(files).map(([part, file]) => [`${prefix}_TLS_${part}_FILE`, file])),
});

/** Files that are all replaced at once, as the kubelet replaces them. */
function openMount(folder: string) {
  let version = 0;
  mkdirSync(folder);
  const current = join(folder, 'current');
  return {
    files: { CA: join(current, 'ca.pem'), CERT: join(current, 'client.pem'), KEY: join(current, 'client.key') },
    async give(ca: string, { certFile, keyFile }: Client): Promise<void> {
      version += 1;
      const next = join(folder, String(version));
      mkdirSync(next);
      writeFileSync(join(next, 'ca.pem'), ca);
      copyFileSync(certFile, join(next, 'client.pem'));
      copyFileSync(keyFile, join(next, 'client.key'));
      symlinkSync(next, `${current}.new`);
      renameSync(`${current}.new`, current);
      await pause(MOUNTED_MS);
    },
  };
}

/** Starts brokers. Each has a second listener, which asks for a client certificate, as with Strimzi. */
async function startBrokers({ folder, start }: DrillParts, old: Certificates) {
  const ports = await findFreePorts(BROKERS);
  const fileOf = (name: string) => join(folder, name);
  const write = (trusted: string, { key, cert }: Certificates) => {
    writeFileSync(fileOf('truststore.pem'), trusted);
    writeFileSync(fileOf('keystore.pem'), key + cert);
  };
  write(old.ca, old);
  const secure = (plan: KafkaOptions): KafkaOptions => {
    const { nodeId = 0, controllerPorts = [] } = plan.cluster ?? {};
    const listeners = `PLAINTEXT://127.0.0.1:${plan.port},SECURED://127.0.0.1:${ports[nodeId - 1]}`;
    return {
      ...plan,
      properties: {
        ...plan.properties,
        listeners: `${listeners},CONTROLLER://127.0.0.1:${controllerPorts[nodeId - 1]}`,
        'advertised.listeners': listeners,
        'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURED:SSL',
        'inter.broker.listener.name': 'PLAINTEXT',
        'ssl.client.auth': 'required',
        'ssl.keystore.type': 'PEM',
        'ssl.keystore.location': fileOf('keystore.pem'),
        'ssl.truststore.type': 'PEM',
        'ssl.truststore.location': fileOf('truststore.pem'),
      },
    };
  };
  const { plans, nodes, addresses } = await start.brokers(secure);
  return {
    plain: addresses,
    secured: ports.map((port) => `127.0.0.1:${port}`),
    async roll(trusted: string, certificates: Certificates, inSync: () => Promise<void>): Promise<void> {
      write(trusted, certificates);
      for (const [index, plan] of plans.entries()) {
        await nodes[index]?.stop();
        nodes[index] = await startKafka(plan);
        await inSync();
      }
    },
  };
}

/** Ends the connections. A client that reconnects gets the current certificate. */
async function endConnections(url: string): Promise<void> {
  const postgres = connectPostgres({ url });
  await postgres.query('select pg_terminate_backend(pid) from pg_stat_ssl where ssl and pid <> pg_backend_pid()');
  await postgres.close();
}
