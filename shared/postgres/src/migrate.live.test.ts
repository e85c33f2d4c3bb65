import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { testParts } from '@makerbook/local-stack';
import { connectPostgres, describeSchema, migrate, type Postgres, readMigrations } from './index.js';

describe('migrations', () => {
  let url: string;
  let postgres: Postgres;

  beforeEach(async () => {
    url = await testParts().databaseUrl();
    postgres = connectPostgres({ url, connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 });
  });
  afterEach(() => postgres.close());

  test('the migrations add up to the schema that is written down in schema.txt', async () => {
    await migrate({ url });
    const golden = new URL('../schema.txt', import.meta.url);
    const schema = await describeSchema(postgres);
    // After a new migration: UPDATE_GOLDEN=1, and look at the difference.
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(golden, schema);
    expect(schema).toBe(readFileSync(golden, 'utf8'));
  });

  test('of several processes that start at once, one applies each migration and all go on', async () => {
    const taken = await Promise.all(Array.from({ length: 4 }, () => migrate({ url })));
    expect(taken.flat()).toEqual(readMigrations().map(({ name }) => name));
  });

  test('a database that is up to date is left as it is', async () => {
    await migrate({ url });
    expect(await migrate({ url })).toEqual([]);
  });

  test('a migration that was edited after it had been applied is refused', async () => {
    await migrate({ url });
    const edited = readMigrations().map((step) => ({ ...step, sql: `${step.sql}\n-- edited` }));
    await expect(migrate({ url }, edited)).rejects.toThrow(/0001-read-model.sql was edited/);
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

  test('orders that were judged before they were looked at count as seen up to the block that was folded last', async () => {
    const [first, ...others] = readMigrations();
    if (first === undefined) throw new Error('there is no migration');
    await migrate({ url }, [first]);
    await postgres.query('insert into projections (partition, block_number) values (0, 7), (1, null)');
    await postgres.query(
      `insert into orders (order_hash, maker, partition, accepted_offset, accepted_at_ms, expires_at_seconds,
         making_token, making_amount, remaining, status, reason, in_book, record_start)
       select sha256((status || partition)::bytea), substr(sha256(''), 1, 20), partition, 1, 1, 1,
         substr(sha256(''), 1, 20), 1, 1, status, case when status = 'INACTIVE' then 'INSUFFICIENT_BALANCE' end, true, ''
       from unnest(array['ACTIVE', 'INACTIVE', 'VALIDATING']) status, generate_series(0, 1) partition`,
    );
    expect(await migrate({ url })).toEqual(others.map(({ name }) => name));
    const rows = await postgres.query<{ partition: number; status: string; observed_block: bigint | null }>(
      'select partition, status, observed_block from orders order by partition, status',
    );
    expect(rows.map(({ partition, status, observed_block }) => [partition, status, observed_block])).toEqual([
      [0, 'ACTIVE', 7n],
      [0, 'INACTIVE', 7n],
      [0, 'VALIDATING', null],
      [1, 'ACTIVE', 0n],
      [1, 'INACTIVE', 0n],
      [1, 'VALIDATING', null],
    ]);
  });

  test('the same tables can stand in a schema of their own, beside the live ones', async () => {
    await migrate({ url });
    await migrate({ url, schema: 'rebuild' });
    const beside = connectPostgres({ url, schema: 'rebuild' });
    try {
      expect(await describeSchema(beside)).toBe(await describeSchema(postgres));
      await beside.query('insert into projections (partition) values (0)');
      expect(await postgres.query('select from projections')).toEqual([]);
    } finally {
      await beside.close();
    }
  });
});
