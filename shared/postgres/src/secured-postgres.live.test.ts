import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createAuthority, findFreePort, type PostgresPart, startPostgres, until } from '@makerbook/parts';
import { postgresConnection, postgresSettings, readSettings } from '@makerbook/settings';
import { connectPostgres, migrate, type Postgres, PostgresUnavailable } from './index.js';

const folder = mkdtempSync(join(tmpdir(), 'makerbook-postgres-'));
const inFolder = (name: string) => join(folder, name);
let server: PostgresPart;
let named: string;

beforeAll(async () => {
  const authority = createAuthority(folder);
  const { certFile, keyFile } = authority.sign('server', 'IP:127.0.0.1');
  authority.sign('maker');
  createAuthority(folder, 'stranger-ca').sign('stranger');
  writeFileSync(inFolder('password'), 'makerbook\n');
  writeFileSync(inFolder('wrong'), 'guess\n');
  server = await startPostgres({
    dataDir: inFolder('data'),
    port: await findFreePort(),
    settings: { ssl: 'on', ssl_ca_file: 'ca.pem', ssl_cert_file: 'server.pem', ssl_key_file: 'server.key' },
    files: {
      'ca.pem': readFileSync(authority.caFile, 'utf8'),
      'server.pem': readFileSync(certFile, 'utf8'),
      'server.key': readFileSync(keyFile, 'utf8'),
      // `maker` may connect only over TLS, with a certificate of the authority and a password.
      'pg_hba.conf': [
        'host all makerbook 127.0.0.1/32 scram-sha-256',
        'hostssl all maker 127.0.0.1/32 scram-sha-256 clientcert=verify-ca',
      ].join('\n'),
    },
  });
  const owner = connectPostgres({ url: server.url, connectTimeoutMs: 60_000 });
  await owner.query("create role maker login password 'makerbook'");
  await owner.query('grant create on database makerbook to maker');
  await owner.close();
  named = server.url.replace('makerbook:makerbook@', 'maker@');
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Connects as a service does, from its settings. */
const connectionBy = (environment: Record<string, string>) =>
  postgresConnection(
    readSettings(postgresSettings, {
      DATABASE_URL: named,
      DATABASE_PASSWORD_FILE: inFolder('password'),
      DATABASE_TLS: 'on',
      DATABASE_TLS_CA_FILE: inFolder('ca.pem'),
      DATABASE_TLS_CERT_FILE: inFolder('maker.pem'),
      DATABASE_TLS_KEY_FILE: inFolder('maker.key'),
      ...environment,
    }),
  );

async function withPostgres<T>(
  environment: Record<string, string>,
  work: (postgres: Postgres) => Promise<T>,
): Promise<T> {
  const postgres = connectPostgres({ ...connectionBy(environment), connectTimeoutMs: 60_000 });
  try {
    return await work(postgres);
  } finally {
    await postgres.close();
  }
}

test('statements and migrations go over TLS, with a certificate and a password from files', async () => {
  const sql = 'select ssl, current_user as name from pg_stat_ssl where pid = pg_backend_pid()';
  const rows = await withPostgres({}, (postgres) => postgres.query(sql));
  expect(rows).toEqual([{ ssl: true, name: 'maker' }]);
  expect(await migrate({ ...connectionBy({}), schema: 'maker', connectTimeoutMs: 60_000 })).not.toEqual([]);
});

test('a renewed password is used at the next connection', async () => {
  writeFileSync(inFolder('renewed'), 'guess\n');
  await withPostgres({ DATABASE_PASSWORD_FILE: inFolder('renewed') }, async (postgres) => {
    await expect(postgres.check()).rejects.toThrow('password authentication failed');
    writeFileSync(inFolder('renewed'), 'makerbook\n');
    await postgres.check();
  });
});

test('new connections use a renewed authority and certificates, and no statement fails meanwhile', async () => {
  const old = readFileSync(inFolder('ca.pem'), 'utf8');
  const environment = {
    DATABASE_TLS_CA_FILE: inFolder('bundle.pem'),
    DATABASE_TLS_CERT_FILE: inFolder('mine.pem'),
    DATABASE_TLS_KEY_FILE: inFolder('mine.key'),
  };
  const give = (ca: string, name: string) => {
    writeFileSync(inFolder('bundle.pem'), ca);
    for (const end of ['pem', 'key']) writeFileSync(inFolder(`mine.${end}`), readFileSync(inFolder(`${name}.${end}`)));
  };
  give(old, 'maker');
  const renewed = createAuthority(folder, 'renewed-ca');
  renewed.sign('maker-2');
  const { certFile, keyFile } = renewed.sign('server-2', 'IP:127.0.0.1');
  const both = old + readFileSync(renewed.caFile, 'utf8');
  await withPostgres(environment, async (postgres) => {
    const issuer = async () => {
      const sql = 'select issuer_dn from pg_stat_ssl where pid = pg_backend_pid()';
      return (await postgres.query<{ issuer_dn: string }>(sql))[0]?.issuer_dn;
    };
    expect(await issuer()).toBe('/CN=ca');
    let isOver = false;
    const load = (async () => {
      while (!isOver) await postgres.query('select 1');
    })();
    // Both sides trust the new authority first. Then the server gets its new certificate, and then the client.
    give(both, 'maker');
    await server.replaceFiles({ 'ca.pem': both });
    await server.replaceFiles({
      'server.pem': readFileSync(certFile, 'utf8'),
      'server.key': readFileSync(keyFile, 'utf8'),
    });
    give(readFileSync(renewed.caFile, 'utf8'), 'maker-2');
    await server.replaceFiles({ 'ca.pem': readFileSync(renewed.caFile, 'utf8') });
    isOver = true;
    await load;
    // A client that knows only the old authority can no longer connect.
    await withPostgres({}, (other) => expect(other.check()).rejects.toThrow(/certificate/));
    const owner = connectPostgres({ url: server.url, connectTimeoutMs: 60_000 });
    await owner.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'maker'");
    await owner.close();
    await until(async () => (await issuer().catch(() => undefined)) === '/CN=renewed-ca');
  });
  await server.replaceFiles({
    'ca.pem': old,
    'server.pem': readFileSync(inFolder('server.pem'), 'utf8'),
    'server.key': readFileSync(inFolder('server.key'), 'utf8'),
  });
});

const noFiles = { DATABASE_TLS_CA_FILE: '', DATABASE_TLS_CERT_FILE: '', DATABASE_TLS_KEY_FILE: '' };

test.each([
  ['a server of another authority', { DATABASE_TLS_CA_FILE: inFolder('stranger-ca.pem') }, /certificate|self-signed/],
  ['a server of another name', { DATABASE_URL: 'postgres://maker@localhost' }, /does not match certificate/],
  ['no certificate of its own', { DATABASE_TLS_CERT_FILE: '', DATABASE_TLS_KEY_FILE: '' }, /certificate/],
  [
    'a certificate of another authority',
    { DATABASE_TLS_CERT_FILE: inFolder('stranger.pem'), DATABASE_TLS_KEY_FILE: inFolder('stranger.key') },
    /./,
  ],
  ['a wrong password', { DATABASE_PASSWORD_FILE: inFolder('wrong') }, /password authentication failed/],
  ['no TLS', { DATABASE_TLS: 'off', ...noFiles }, /no encryption/],
])('with %s nothing is answered, and the error gives the reason', async (_, environment, reason) => {
  const { DATABASE_URL: other = '' } = environment as { DATABASE_URL?: string };
  const url = other === '' ? {} : { DATABASE_URL: `${other}:${new URL(named).port}/makerbook` };
  await withPostgres({ ...environment, ...url }, (postgres) => expect(postgres.check()).rejects.toThrow(reason));
});

test('a server whose certificate cannot be verified fails with PostgresUnavailable: time may mend it', async () => {
  await withPostgres({ DATABASE_TLS_CA_FILE: inFolder('stranger-ca.pem') }, (postgres) =>
    expect(postgres.check()).rejects.toBeInstanceOf(PostgresUnavailable),
  );
});
