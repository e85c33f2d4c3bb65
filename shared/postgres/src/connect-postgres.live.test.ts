import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, describe, expect, test } from '@jest/globals';
import { findFreePort, testParts, until } from '@makerbook/parts';
import { connectPostgres, InvariantBroken, PostgresRefused, PostgresUnavailable } from './index.js';

const url = await testParts().databaseUrl();
const postgres = connectPostgres({ url, statementTimeoutMs: 60_000, connectTimeoutMs: 60_000 });
afterAll(() => postgres.close());

describe('a connection to Postgres', () => {
  test('a missing server is reported at once', async () => {
    const port = await findFreePort();
    const nowhere = connectPostgres({ url: `postgres://nobody@127.0.0.1:${port}/nothing`, connectTimeoutMs: 60_000 });
    const startedAt = performance.now();
    await expect(nowhere.check()).rejects.toThrow(PostgresUnavailable);
    expect(await nowhere.isThere()).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    await nowhere.close();
  });

  test('a server that accepts the connection and never answers costs the connect timeout and no more', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const mute = connectPostgres({ url: `postgres://nobody@127.0.0.1:${port}/nothing`, connectTimeoutMs: 200 });
    const startedAt = performance.now();
    await expect(mute.check()).rejects.toThrow(PostgresUnavailable);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    await mute.close();
    for (const socket of sockets) socket.destroy();
    await once(silent.close(), 'close');
  });

  test('a statement that takes too long is stopped, and may be tried again', async () => {
    const hasty = connectPostgres({ url, statementTimeoutMs: 300, connectTimeoutMs: 60_000 });
    await expect(hasty.query('select pg_sleep(120)')).rejects.toThrow(PostgresUnavailable);
    await until(hasty.isThere);
    await hasty.close();
  });

  test('connections that the server closes are replaced automatically', async () => {
    const lost: Error[] = [];
    const watched = connectPostgres({ url, connectTimeoutMs: 60_000, onConnectionLost: (error) => lost.push(error) });
    await watched.check();
    await postgres.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
    await until(() => lost.length > 0);
    await watched.check();
    await watched.close();
  });

  test('connections that fall silent, as when a machine is lost, make one statement fail and no more', async () => {
    const { hostname, port } = new URL(url);
    const sockets: Socket[] = [];
    const between = createServer((client) => {
      const server = connect(Number(port), hostname);
      client.pipe(server).pipe(client);
      for (const socket of [client, server]) sockets.push(socket.on('error', () => undefined));
    }).listen(0, '127.0.0.1');
    await once(between, 'listening');
    const there = new URL(url);
    there.host = `127.0.0.1:${(between.address() as AddressInfo).port}`;
    const cut = connectPostgres({ url: there.href, statementTimeoutMs: 1_000, connectTimeoutMs: 60_000 });
    try {
      await Promise.all([1, 2, 3].map(() => cut.query('select pg_sleep(0.2)')));
      for (const socket of sockets) socket.unpipe().pause();
      await expect(cut.query('select 1')).rejects.toThrow(PostgresUnavailable);
      expect(await cut.query('select 1 as one')).toEqual([{ one: 1 }]);
    } finally {
      for (const socket of sockets) socket.destroy();
      await Promise.all([cut.close(), once(between.close(), 'close')]);
    }
  });

  test('a transaction whose connection is lost reports that Postgres is not available', async () => {
    const work = postgres.transaction(async (query) => {
      const [row] = await query<{ pid: number }>('select pg_backend_pid() as pid');
      await postgres.query('select pg_terminate_backend($1)', [row?.pid]);
      await query('select 1');
    });
    await expect(work).rejects.toThrow(PostgresUnavailable);
    await postgres.check();
  });

  test('a broken constraint, a wrong statement and a missing table are different errors', async () => {
    await postgres.query('create table once (id integer primary key)');
    await postgres.query('insert into once values (1)');
    const repeated = postgres.query('insert into once values (1)');
    await expect(repeated).rejects.toThrow(InvariantBroken);
    await expect(repeated).rejects.toThrow('once_pkey');
    await expect(postgres.query('select nothing from once')).rejects.toThrow(PostgresRefused);
    // The projector's migrations may still make a missing table.
    await expect(postgres.query('select * from nowhere')).rejects.toThrow(PostgresUnavailable);
  });

  test('a transaction that throws leaves nothing behind', async () => {
    await postgres.query('create table twice (id integer primary key)');
    const work = postgres.transaction(async (query) => {
      await query('insert into twice values (1)');
      throw new Error('second thoughts');
    });
    await expect(work).rejects.toThrow('second thoughts');
    expect(await postgres.query('select * from twice')).toEqual([]);
  });
});
