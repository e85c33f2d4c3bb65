import type { Postgres } from '@makerbook/postgres';

/**
 * Keeps a copy of all rows that a backup has. Unlogged tables are empty after its restore. Call once per database.
 * @returns puts the rows back in one transaction, as the restore of a backup does
 */
export async function saveRows(postgres: Postgres): Promise<() => Promise<void>> {
  const [all, tables] = [await tablesOf(postgres), await tablesOf(postgres, ['p'])];
  await postgres.transaction(async (query) => {
    await query('set transaction isolation level repeatable read');
    for (const table of tables) await query(`create table ${SAVED}${table} as table ${table}`);
  });
  return () =>
    postgres.transaction(async (query) => {
      await query(`truncate ${all.join(', ')}`);
      for (const table of tables) await query(`insert into ${table} table ${SAVED}${table}`);
    });
}

/** Deletes all rows except the record of the schema, as in a new database. */
export async function deleteRows(postgres: Postgres): Promise<void> {
  await postgres.query(`truncate ${(await tablesOf(postgres)).join(', ')}`);
}

const SAVED = 'saved_';

/** @param persistence of the tables: `p` is logged, `u` is not */
async function tablesOf(postgres: Postgres, persistence: readonly string[] = ['p', 'u']): Promise<string[]> {
  const rows = await postgres.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'migrations'
       and relpersistence::text = any($1)`,
    [persistence],
  );
  return rows.map(({ name }) => name).filter((name) => !name.startsWith(SAVED));
}
