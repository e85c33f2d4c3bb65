import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createAuthority, findFreePort, type PostgresPart, startPostgres } from '@makerbook/parts';
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
      // `maker` is let in over TLS alone, with a certificate of the authority and a password.
      'pg_hba.conf': [
        'host all makerbook 127.0.0.1/32 scram-sha-256',
        'hostssl all maker 127.0.0.1/32 scram-sha-256 clientcert=verify-ca',
      ].join('\n'),
    },
  });
  const owner = connectPostgres({ url: server.url });
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

test('a renewed password is taken at the next connection', async () => {
  writeFileSync(inFolder('renewed'), 'guess\n');
  await withPostgres({ DATABASE_PASSWORD_FILE: inFolder('renewed') }, async (postgres) => {
    await expect(postgres.check()).rejects.toThrow('password authentication failed');
    writeFileSync(inFolder('renewed'), 'makerbook\n');
    await postgres.check();
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
])('with %s nothing is answered, and the reason is in the error', async (_, environment, reason) => {
  const { DATABASE_URL: other = '' } = environment as { DATABASE_URL?: string };
  const url = other === '' ? {} : { DATABASE_URL: `${other}:${new URL(named).port}/makerbook` };
  await withPostgres({ ...environment, ...url }, (postgres) => expect(postgres.check()).rejects.toThrow(reason));
});

test('what only time may mend is PostgresUnavailable: a server whose certificate cannot be verified', async () => {
  await withPostgres({ DATABASE_TLS_CA_FILE: inFolder('stranger-ca.pem') }, (postgres) =>
    expect(postgres.check()).rejects.toBeInstanceOf(PostgresUnavailable),
  );
});
