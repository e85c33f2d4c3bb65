import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { encodeMakersRecord, type MakerView, topicNames, topicSpecs } from '@makerbook/contracts-events';
import { connectLog } from '@makerbook/kafka';
import {
  type AnvilPart,
  createAuthority,
  createRoles,
  findFreePort,
  type PostgresPart,
  startAnvil,
  startPostgres,
  testParts,
  until,
} from '@makerbook/parts';
import { connectPostgres, migrate, type Postgres, readMigrations } from '@makerbook/postgres';
import { readSettings } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import { runDoctor } from './doctor-command.js';
import { doctorSettings } from './env.js';

const PARTITIONS = 2;
const CONTRACT = `0x${'11'.repeat(20)}` as const;
const prefix = `doctor-${randomBytes(4).toString('hex')}.`;
const names = topicNames(prefix);
const folder = mkdtempSync(join(tmpdir(), 'makerbook-doctor-'));
const inFolder = (name: string) => join(folder, name);
const brokers = testParts().kafkaBrokers;
const log = connectLog({ brokers: brokers.split(','), clientId: 'doctor-test', logger: silentLogger });
const servers: Server[] = [];
let chain: AnvilPart;
let part: PostgresPart;
let postgres: Postgres;
let environment: Record<string, string>;

async function listen(server: Server): Promise<number> {
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** Serves what a process shows on its ops port. */
const startProcess = (revision: string) =>
  listen(
    createServer(({ url }, answer) =>
      answer.end(
        url === '/readyz'
          ? JSON.stringify({ checks: { kafka: 'ok' } })
          : `makerbook_build_info{version="0.1.0",revision="${revision}"} 1\n`,
      ),
    ),
  );

/** Starts a TLS server with a certificate that ends in so many days. */
async function startTls(days: number): Promise<number> {
  const [key, cert] = [inFolder(`${days}.key`), inFolder(`${days}.pem`)];
  const words = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=gateway', '-days', `${days}`];
  execFileSync('openssl', [...words, '-keyout', key, '-out', cert], { stdio: 'pipe' });
  return listen(createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }));
}

beforeAll(async () => {
  const authority = createAuthority(folder);
  const { certFile, keyFile } = authority.sign('server', 'IP:127.0.0.1');
  const specs = topicSpecs(names, PARTITIONS).map((spec) => ({ ...spec, replicationFactor: 1 }));
  const files = { 'server.pem': readFileSync(certFile, 'utf8'), 'server.key': readFileSync(keyFile, 'utf8') };
  const settings = { ssl: 'on', ssl_cert_file: 'server.pem', ssl_key_file: 'server.key' };
  [part, chain] = await Promise.all([
    startPostgres({ dataDir: inFolder('data'), port: await findFreePort(), settings, files }),
    startAnvil({ blockTimeSeconds: 1 }),
    log.createTopics(specs),
  ]);
  await createRoles(part.url, ['makerbook_query', 'makerbook_ingress']);
  await migrate({ url: part.url, connectTimeoutMs: 60_000 });
  postgres = connectPostgres({ url: part.url, connectTimeoutMs: 60_000 });
  await postgres.query(
    `insert into projections (partition, block_number, block_timestamp)
     select partition, 1, extract(epoch from now())::bigint from generate_series(0, 1) as partition`,
  );
  const code = { jsonrpc: '2.0', id: 1, method: 'anvil_setCode', params: [CONTRACT, '0x00'] };
  await fetch(chain.rpcUrl, {
    method: 'POST',
    body: JSON.stringify(code),
    headers: { 'Content-Type': 'application/json' },
  });
  environment = {
    KAFKA_BROKERS: brokers,
    PARTITIONS: `${PARTITIONS}`,
    TOPIC_PREFIX: prefix,
    DATABASE_URL: part.url,
    SERVICE_NAME: 'Makerbook',
    LIMIT_ORDER_PROTOCOL_ADDRESS: CONTRACT,
    RPC_URL: chain.rpcUrl,
    PROCESSES: `ingress=http://127.0.0.1:${await startProcess('abc')}`,
    TLS_SERVERS: `127.0.0.1:${await startTls(30)}`,
  };
});
afterAll(async () => {
  for (const server of servers) {
    server.close();
    if (server instanceof HttpServer) server.closeAllConnections();
  }
  await Promise.all([log.close(), postgres?.close(), chain?.stop()]);
  await part?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Told {
  readonly isWell: boolean;
  readonly findings: { readonly verdict: string; readonly what: string; readonly runbook?: string }[];
}

/** Serves the chain as a node of Kaia on which each account has changed its key. */
const startKaia = () =>
  listen(
    createServer(async (request, answer) => {
      const asked = JSON.parse(await text(request));
      const answers = [asked].flat().map(async (call: { id: number; method: string }) => {
        if (call.method === 'kaia_getAccountKey')
          return { jsonrpc: '2.0', id: call.id, result: { keyType: 2, key: {} } };
        const headers = { 'Content-Type': 'application/json' };
        return (await fetch(chain.rpcUrl, { method: 'POST', headers, body: JSON.stringify(call) })).json();
      });
      answer.setHeader('Content-Type', 'application/json');
      answer.end(JSON.stringify(Array.isArray(asked) ? await Promise.all(answers) : await answers[0]));
    }),
  );

/** @returns the number of disks, and what was found ok and wrong, with its runbook */
async function examine(other: Record<string, string> = {}) {
  const settings = readSettings(doctorSettings, { ...environment, ...other });
  const { lines, exitCode } = await runDoctor({ isJson: true }, settings, Date.now);
  const { isWell, findings } = JSON.parse(lines.join('\n')) as Told;
  expect(exitCode).toBe(isWell ? 0 : 1);
  // A test cannot say how full the disk of this machine is.
  const judged = findings.filter(({ what }) => !what.startsWith('disk of '));
  const of = (verdict: string) =>
    judged.flatMap((found) => (found.verdict === verdict ? [`${found.what} → ${found.runbook}`] : []));
  for (const { runbook } of findings) if (runbook !== undefined) expectSection(runbook);
  return { disks: findings.length - judged.length, ok: of('ok'), wrong: of('wrong') };
}

/** Repeats while a part is too slow to answer. @param find returns what is unexpected in what was found wrong */
async function examineUntil(find: (wrong: readonly string[]) => readonly unknown[], other?: Record<string, string>) {
  let found = await examine(other);
  const isAsExpected = async () => {
    if (find(found.wrong).length === 0) return true;
    found = await examine(other);
    return false;
  };
  await until('the doctor finds what it should', isAsExpected).catch(() => expect(find(found.wrong)).toEqual([]));
  return found;
}

function expectSection(runbook: string): void {
  const [path = '', section] = runbook.split('#');
  const text = readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
  const anchors = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(' ', '-')
      .replace(/[^\w-]/g, ''),
  );
  if (section !== undefined) expect(anchors).toContain(section);
}

test('the doctor finds nothing wrong if all is well, and says what it looked at', async () => {
  const { disks, ok } = await examineUntil((wrong) => wrong);
  expect(disks).toBe(1);
  for (const part of [
    ...['topics', 'version of Postgres', 'clock of Postgres', 'schema', 'rights', 'positions', 'lag of'],
    ...['node ', 'contracts at', 'certificate of 127.0.0.1', 'ingress', 'builds: 0.1.0 (abc): ingress'],
    'parked messages: 0',
    'replicas: all are in sync',
  ]) {
    expect(ok).toContainEqual(expect.stringContaining(part));
  }
  const settings = readSettings(doctorSettings, environment);
  const { lines } = await runDoctor({ isJson: false }, settings, Date.now);
  expect(lines).toContainEqual(`ok      topics: ${Object.keys(names).length}, as this build expects them`);
});

test('the doctor finds each fault, with its runbook', async () => {
  await log.alterTopic(names.book, { 'cleanup.policy': 'delete' });
  await postgres.query('grant insert on orders to makerbook_query');
  await postgres.query('revoke select on orders from makerbook_ingress');
  await postgres.query('update projections set next_offset = 99 where partition = 1');
  await postgres.query('update projections set block_timestamp = block_timestamp - 100');
  const newest = readMigrations().at(-1)?.name;
  await postgres.query('delete from migrations where name = $1', [newest]);
  const appender = log.createAppender();
  const record = { topic: names.makerEvents, key: 'k', value: Buffer.from('{}'), headers: {} };
  await appender.append(Array.from({ length: 100 }, () => ({ ...record, partition: 0 })));
  const position = { partition: 0, offset: '0' };
  const view: MakerView = { type: 'MakerView', maker: CONTRACT, admission: 'ADMITTED', nonce: null, position };
  const { key, ...message } = encodeMakersRecord(view, { id: '1', source: '/test', timeMs: 0 });
  await appender.append([{ topic: names.makers, partition: 0, key: key ?? '', ...message }]);
  const origin = { 'parked-topic': names.makerEvents, 'parked-partition': '0', 'parked-reason': 'broken' };
  const park = (offset: string, more = {}) => {
    const headers = { ...origin, 'parked-offset': offset, ...more };
    return { topic: names.parked, partition: 0, key: '', value: null, headers };
  };
  await appender.append([park('1'), park('2'), park('2'), park('1', { resolution: 'discarded' })]);
  const away = await findFreePort();
  const faulty = {
    DATABASE_TLS: 'on',
    DATABASE_TLS_CA_FILE: inFolder('ca.pem'),
    RPC_URL: `http://127.0.0.1:${await startKaia()},http://127.0.0.1:${away}`,
    NAVIGATOR_ADDRESS: `0x${'22'.repeat(20)}`,
    TLS_SERVERS: `127.0.0.1:${await startTls(3)},127.0.0.1:${away}`,
    CERTIFICATE_FILES: `${inFolder('30.pem')},${inFolder('3.pem')},${inFolder('missing.pem')}`,
    PROCESSES: `${environment['PROCESSES']},query=http://127.0.0.1:${await startProcess('abd')},feed=http://127.0.0.1:${away}`,
  };
  const alerts = 'deploy/runbooks/alerts.md#';
  const operations = 'deploy/runbooks/operations.md#';
  const certificates = `${operations}keys-and-certificates`;
  const expected = [
    /^topics: .*cleanup\.policy=delete.* → services\/operator\/README\.md$/,
    new RegExp(`^schema: .*lacks ${newest}.* → ${operations}upgrade$`),
    /^rights: makerbook_ingress lacks select orders; makerbook_query has too much: insert orders → shared\/postgres\/README\.md#rights$/,
    new RegExp(
      `^positions: the rows of partition 1 are 99 facts ahead of the log → ${operations}postgres-is-restored$`,
    ),
    new RegExp(`^lag of the rows: 1 facts; block 1, \\d+ s old → ${alerts}readmodelbehind$`),
    new RegExp(`^node 127.0.0.1.*${away}.* → ${alerts}nodefails$`),
    /^contracts at 127\.0\.0\.1.*no code at NAVIGATOR_ADDRESS → services\/operator\/README\.md#the-contracts$/,
    new RegExp(`^certificate of the authority for Postgres: ends in 1 days → ${certificates}$`),
    new RegExp(`^certificate of 127.0.0.1:${new URL(part.url).port}: ends in 1 days → ${certificates}$`),
    new RegExp(`^certificate of 127.0.0.1:\\d+: ends in 2 days → ${certificates}$`),
    new RegExp(`^certificate of ${inFolder('3.pem')}: ends in 2 days → ${certificates}$`),
    new RegExp(`^certificate of 127.0.0.1:${away}: connect ECONNREFUSED.* → ${certificates}$`),
    new RegExp(`^keys of 1 makers: ${CONTRACT} has changed its key on the chain .* → SECURITY.md#`),
    new RegExp(`^parked messages: 1 → ${alerts}messagesparked$`),
    new RegExp(`^feed: does not answer → ${alerts}feeddown$`),
    new RegExp(`^builds: .*\\(abc\\): ingress; .*\\(abd\\): query → ${operations}upgrade$`),
  ];
  await examineUntil(
    (wrong) => [
      ...wrong.filter((found) => !expected.some((fault) => fault.test(found))),
      ...expected.filter((fault) => !wrong.some((found) => fault.test(found))),
    ],
    faulty,
  );
});

test('the doctor goes on if a topic is missing and a certificate cannot be read', async () => {
  const broken = inFolder('broken.pem');
  writeFileSync(broken, '-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n');
  const { ok, wrong } = await examine({
    TOPIC_PREFIX: `${prefix}missing.`,
    DATABASE_TLS: 'on',
    DATABASE_TLS_CA_FILE: broken,
  });
  expect(wrong).toContainEqual(expect.stringMatching(/^topics: /));
  expect(wrong).toContainEqual(expect.stringMatching(/^certificate of the authority for Postgres: .* → deploy/));
  expect(ok).toContainEqual(expect.stringMatching(/^node /));
});

test('the doctor says what does not answer', async () => {
  const away = await findFreePort();
  const { wrong } = await examine({ DATABASE_URL: `postgres://makerbook:makerbook@127.0.0.1:${away}/makerbook` });
  expect(wrong).toContainEqual(expect.stringMatching(/^Postgres: .* → deploy\/runbooks\/alerts\.md#postgresaway$/));
});
