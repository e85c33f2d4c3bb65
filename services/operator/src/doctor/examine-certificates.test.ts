import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { readSettings } from '@makerbook/settings';
import { doctorSettings } from '../env.js';
import { examineCertificates } from './examine-certificates.js';

test('a bad address, a silent server and a file without a certificate are reported in plain words', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const server = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const settings = readSettings(doctorSettings, {
    KAFKA_BROKERS: 'kafka:9092',
    DATABASE_URL: 'postgres://me@postgres/makerbook',
    SERVICE_NAME: 'Makerbook',
    LIMIT_ORDER_PROTOCOL_ADDRESS: `0x${'11'.repeat(20)}`,
    TLS_SERVERS: `gateway,${server}`,
    CERTIFICATE_FILES: import.meta.filename,
  });
  const found = await examineCertificates(settings, Date.now);
  for (const socket of sockets) socket.destroy();
  silent.close();
  expect(found.map(({ verdict, what }) => `${verdict} ${what}`)).toEqual([
    `wrong certificate of ${import.meta.filename}: the file has no certificate in PEM`,
    'wrong certificate of gateway: it is not host:port',
    `wrong certificate of ${server}: no answer within 5 s`,
  ]);
});
