import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, jest, test } from '@jest/globals';
import pg from 'pg';
import { findFreePort, type PostgresPart, startPostgres, testParts } from './index.js';

// Processes are started several times: on a busy machine that takes its time.
jest.setTimeout(240_000);

const folder = mkdtempSync(join(tmpdir(), 'makerbook-postgres-'));
chmodSync(folder, 0o755);
const started: PostgresPart[] = [];
const start = async (name: string, port?: number) => {
  const part = await startPostgres({ dataDir: join(folder, name), port: port ?? (await findFreePort()) });
  started.push(part);
  return part;
};
const query = async (url: string, sql: string): Promise<pg.QueryResult['rows']> => {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
};

afterAll(async () => {
  for (const part of started) part.kill('SIGKILL');
  await Promise.all(started.map((part) => part.exited));
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

describe('Postgres', () => {
  test('keeps committed rows over a stop, a kill and a change of port, in a folder that only its maker may enter', async () => {
    mkdirSync(join(folder, 'closed'), { mode: 0o700 });
    const first = await start(join('closed', 'kept'));
    await query(first.url, 'create table kept (value int); insert into kept values (1)');
    await first.stop();

    const second = await start(join('closed', 'kept'));
    await query(second.url, 'insert into kept values (2)');
    second.kill('SIGKILL');
    await second.exited;

    const third = await start(join('closed', 'kept'));
    expect(await query(third.url, 'select value from kept order by value')).toEqual([{ value: 1 }, { value: 2 }]);
    await third.stop();
  });

  test('does not answer between SIGSTOP and SIGCONT, in open connections too', async () => {
    const part = await start('stopped');
    const client = new pg.Client(part.url);
    await client.connect();
    await part.freeze();
    let answered = false;
    const answer = client.query('select 1').then(() => {
      answered = true;
    });
    // It is awaited below; until then a failure of it must not end the run.
    answer.catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(answered).toBe(false);
    part.kill('SIGCONT');
    await answer;
    await client.end();
    await part.stop();
  });

  test('refuses a data folder that is not its own in one sentence that says what to do', async () => {
    mkdirSync(join(folder, 'foreign'));
    writeFileSync(join(folder, 'foreign', 'letter.txt'), 'not a database');
    await expect(start('foreign')).rejects.toMatchObject({
      name: 'PartError',
      message: `PostgreSQL cannot use its data folder ${join(folder, 'foreign')}: move it away and start again`,
    });
  });

  test('refuses a broken data folder in one sentence that says what to do', async () => {
    await (await start('broken')).stop();
    rmSync(join(folder, 'broken', 'global'), { recursive: true });
    await expect(start('broken')).rejects.toMatchObject({ message: expect.stringMatching(/broken, move it away$/) });
  });

  test('names the port that is in use', async () => {
    const port = Number(new URL(await testParts().databaseUrl()).port);
    await expect(start('taken', port)).rejects.toMatchObject({
      message: `Postgres cannot listen: port ${port} is in use`,
    });
  });
});
