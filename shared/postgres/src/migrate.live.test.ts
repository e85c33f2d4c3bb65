import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pause } from '@makerbook/contracts-primitives';
import { testParts } from '@makerbook/parts';
import { connectPostgres, migrate, type Postgres, readMigrations, SchemaMismatch, verifySchema } from './index.js';
import { describeSchema } from './testing/index.js';

describe('migrations', () => {
  let url: string;
  let postgres: Postgres;

  beforeEach(async () => {
    url = await testParts().databaseUrl();
    postgres = connectPostgres({ url, connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 });
  });
  afterEach(() => postgres.close());

  test('add up to the schema in schema.txt', async () => {
    await migrate({ url });
    const golden = new URL('../schema.txt', import.meta.url);
    const schema = await describeSchema(postgres);
    // After a new migration, run with UPDATE_GOLDEN=1 and look at the difference.
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(golden, schema);
    expect(schema).toBe(readFileSync(golden, 'utf8'));
  });

  test('each has a number of its own, except 0003', () => {
    // The two steps 0003 change different things. Databases have applied both, and an applied step keeps its name.
    const numbers = readMigrations().map(({ name }) => name.slice(0, 4));
    expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual(['0003']);
  });

  test('are applied once if several processes start at once, and all processes go on', async () => {
    const taken = await Promise.all(Array.from({ length: 4 }, () => migrate({ url })));
    expect(taken.flat()).toEqual(readMigrations().map(({ name }) => name));
  });

  test('a schema that lacks a migration is refused, and one with an edited step is never migrated', async () => {
    await expect(verifySchema(postgres)).rejects.toThrow(/lacks 0001-read-model.sql.*: run `operator migrate`/);
    await migrate({ url });
    await verifySchema(postgres);
    const next = [...readMigrations(), { name: '9999-next.sql', sql: 'select 1' }];
    const refused = verifySchema(postgres, next);
    await expect(refused).rejects.toThrow(SchemaMismatch);
    await expect(refused).rejects.toThrow('the database lacks 9999-next.sql: run `operator migrate`');
    const edited = readMigrations().map((step) => ({ ...step, sql: `${step.sql}\n-- edited` }));
    await expect(verifySchema(postgres, edited)).rejects.toThrow(/0001-read-model.sql was edited/);
    await expect(migrate({ url }, edited)).rejects.toThrow(/0001-read-model.sql was edited/);
    // A newer build has migrated the database: its steps only add.
    await migrate({ url }, next);
    await verifySchema(postgres);
  });

  test('a database of an earlier release keeps its orders in flight and its budgets', async () => {
    const earlier = readMigrations().filter(({ name }) => name < '0006');
    await migrate({ url }, earlier);
    await postgres.query(`insert into budgets (maker, of_cancels, tokens, at_ms) values ('\\x01', false, 3, 7)`);
    await postgres.query(
      `insert into in_flight (order_hash, maker, partition, until_ms) values ('\\x02', '\\x01', 3, 9)`,
    );
    await postgres.query(
      `insert into cancelling (order_hash, maker, partition, until_ms) values ('\\x03', '\\x01', 3, 9)`,
    );
    await migrate({ url });
    const rows = await postgres.query(
      `select tokens, version, f.request_id as placed_by, c.request_id as cancelled_by
       from budgets join in_flight f using (maker) join cancelling c using (maker)`,
    );
    expect(rows).toEqual([{ tokens: 3, version: 0n, placed_by: null, cancelled_by: null }]);
  });

  test('a migration that fails leaves nothing behind', async () => {
    const broken = [
      ...readMigrations(),
      { name: '9999-broken.sql', sql: 'create table half (); select no_such_thing;' },
    ];
    await expect(migrate({ url }, broken)).rejects.toMatchObject({ name: 'PostgresRefused' });
    expect(await postgres.query('select relname from pg_class where relname in ($1, $2)', ['half', 'orders'])).toEqual(
      [],
    );
    expect(await migrate({ url })).toHaveLength(readMigrations().length);
  });

  test('a step waits only briefly for a table in use, holds nobody up for long, and is applied later', async () => {
    await migrate({ url });
    const step = { name: '9999-more.sql', sql: 'alter table hashes add column more integer' };
    let migrating: Promise<string[]> | undefined;
    await postgres.transaction(async (query) => {
      await query('lock table hashes in access share mode');
      migrating = migrate({ url }, [...readMigrations(), step]);
      const waiting = `select 1 from pg_locks where relation = 'hashes'::regclass and not granted`;
      while ((await postgres.query(waiting)).length === 0) await pause(20);
      // This query is answered before the table is free.
      await postgres.query('select 1 from hashes limit 1');
    });
    expect(await migrating).toEqual([step.name]);
  });

  test('the same tables can exist in another schema beside the live ones', async () => {
    await migrate({ url });
    await migrate({ url, schema: 'rebuild' });
    const beside = connectPostgres({ url, schema: 'rebuild', connectTimeoutMs: 60_000 });
    try {
      expect(await describeSchema(beside)).toBe(await describeSchema(postgres));
      await beside.query('insert into projections (partition) values (0)');
      expect(await postgres.query('select from projections')).toEqual([]);
    } finally {
      await beside.close();
    }
  });
});
