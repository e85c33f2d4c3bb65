import { mkdirSync, rmSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { findFreePort, startPostgres } from './index.js';
import { openFolder } from './testing/open-folder.js';

const { inFolder, keep } = openFolder('postgres');
const start = async (name: string) => keep(startPostgres({ dataDir: inFolder(name), port: await findFreePort() }));
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

describe('Postgres', () => {
  test('keeps committed rows after a stop, a kill while frozen and a change of port, in a closed folder', async () => {
    mkdirSync(inFolder('closed'), { mode: 0o700 });
    const first = await start('closed/kept');
    await query(first.url, 'create table kept (value int); insert into kept values (1)');
    await first.stop();

    const second = await start('closed/kept');
    await query(second.url, 'insert into kept values (2)');
    await second.freeze();
    second.kill('SIGKILL');
    await second.exited;

    const third = await start('closed/kept');
    expect(await query(third.url, 'select value from kept order by value')).toEqual([{ value: 1 }, { value: 2 }]);
  });

  test('does not answer between SIGSTOP and SIGCONT, not even on open connections', async () => {
    const part = await start('stopped');
    const client = new pg.Client(part.url);
    await client.connect();
    await part.freeze();
    let answered = false;
    const answer = client.query('select 1').then(() => {
      answered = true;
    });
    // The answer is awaited below. Until then its failure must not end the run.
    answer.catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(answered).toBe(false);
    part.kill('SIGCONT');
    await answer;
    await client.end();
  });

  test('refuses a broken data folder in one sentence that says what to do', async () => {
    await (await start('broken')).stop();
    rmSync(inFolder('broken', 'global'), { recursive: true });
    await expect(start('broken')).rejects.toMatchObject({ message: expect.stringMatching(/broken, move it away$/) });
  });
});
