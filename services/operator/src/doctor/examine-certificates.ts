import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { kafkaConnection, postgresConnection, type Tls } from '@makerbook/settings';
import type { DoctorSettings } from '../env.js';
import { alert, type Finding, judge, look } from './finding.js';

/** Certificates are renewed a week before they end, or earlier. */
const DAYS_LEFT_MIN = 5;
const DAY_MS = 86_400_000;
const ANSWER_MS_MAX = 5_000;
const RUNBOOK = 'deploy/runbooks/operations.md#keys-and-certificates';
/** The message that asks Postgres for TLS; it answers S. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** Checks when certificates end: those in the files that settings name, and those that servers show. */
export async function examineCertificates(settings: DoctorSettings, nowMs: () => number): Promise<readonly Finding[]> {
  const kafka = kafkaConnection(settings);
  const postgres = postgresConnection(settings);
  const { hostname, port } = new URL(postgres.url);
  const judgeEnd = (what: string, certificate: X509Certificate): Finding => {
    const days = Math.floor((certificate.validToDate.getTime() - nowMs()) / DAY_MS);
    return judge(days >= DAYS_LEFT_MIN, `certificate of ${what}: ends in ${days} days`, RUNBOOK);
  };
  const judgeAll = (what: string, pem: string) =>
    [...pem.matchAll(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)].map(([text]) =>
      look(`certificate of ${what}`, RUNBOOK, async () => [judgeEnd(what, new X509Certificate(text))]),
    );
  const used = Object.entries({ Kafka: kafka.tls, Postgres: postgres.tls }).flatMap(([server, tls]) =>
    Object.entries({ authority: tls?.ca, client: tls?.cert }).flatMap(([part, pem = '']) =>
      judgeAll(`the ${part} for ${server}`, pem),
    ),
  );
  const files = settings.CERTIFICATE_FILES.filter((path) => existsSync(path)).map((path) =>
    look(`certificate of ${path}`, RUNBOOK, async () => {
      const read = judgeAll(path, await readFile(path, 'utf8'));
      if (read.length === 0) throw new Error('the file has no certificate in PEM');
      return (await Promise.all(read)).flat();
    }),
  );
  const brokers = kafka.tls === undefined ? [] : kafka.brokers;
  const servers = [
    ...[...brokers, ...settings.TLS_SERVERS].map((server) => ({ server, tls: kafka.tls, isPostgres: false })),
    ...(postgres.tls === undefined
      ? []
      : [{ server: `${hostname}:${port || 5432}`, tls: postgres.tls, isPostgres: true }]),
  ];
  const shown = servers.map(({ server, tls, isPostgres }) =>
    look(`certificate of ${server}`, isPostgres ? alert('PostgresAway') : RUNBOOK, async () => [
      judgeEnd(server, await readCertificate(server, tls, isPostgres)),
    ]),
  );
  const found = (await Promise.all([...used, ...files, ...shown])).flat();
  return found.length > 0
    ? found
    : [{ verdict: 'unread', what: 'certificates: no connection has TLS, and no file is there' }];
}

/** Reads the certificate that a server shows, valid or not. */
async function readCertificate(server: string, tls: Tls | undefined, isPostgres: boolean): Promise<X509Certificate> {
  const [, host = '', port] = /^\[?(.*?)\]?:(\d+)$/.exec(server) ?? [];
  if (port === undefined) throw new Error('it is not host:port');
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  const socket: Socket = connect({ host, port: Number(port) });
  try {
    await once(socket, 'connect', { signal });
    if (isPostgres) {
      socket.write(SSL_REQUEST);
      await once(socket, 'data', { signal });
    }
    const own = tls?.cert === undefined ? {} : { cert: tls.cert, key: tls.key };
    const name = isIP(host) === 0 ? { servername: host } : {};
    const secured = connectTls({ socket, rejectUnauthorized: false, ...own, ...name });
    await once(secured, 'secureConnect', { signal });
    const certificate = secured.getPeerX509Certificate();
    if (certificate === undefined) throw new Error('the server shows none');
    return certificate;
  } catch (error) {
    throw signal.aborted ? new Error(`no answer within ${ANSWER_MS_MAX / 1000} s`) : error;
  } finally {
    socket.destroy();
  }
}
