import type { Postgres } from '@makerbook/postgres';

/** Rows of all tables as they were, in the same database. */
export interface SavedRows {
  /** Puts them back in one transaction, as the restore of a backup does. */
  restore(): Promise<void>;
}

/** Keeps a copy of all rows. Once for each database. */
export async function saveRows(postgres: Postgres): Promise<SavedRows> {
  const tables = await tablesOf(postgres);
  await postgres.transaction(async (query) => {
    await query('set transaction isolation level repeatable read');
    for (const table of tables) await query(`create table ${SAVED}${table} as table ${table}`);
  });
  return {
    restore: () =>
      postgres.transaction(async (query) => {
        await query(`truncate ${tables.join(', ')}`);
        for (const table of tables) await query(`insert into ${table} table ${SAVED}${table}`);
      }),
  };
}

/** Deletes all rows but the record of the schema, as where a new database is given. */
export async function deleteRows(postgres: Postgres): Promise<void> {
  await postgres.query(`truncate ${(await tablesOf(postgres)).join(', ')}`);
}

const SAVED = 'saved_';

async function tablesOf(postgres: Postgres): Promise<string[]> {
  const rows = await postgres.query<{ name: string }>(
    `select table_name as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> 'migrations'`,
  );
  return rows.map(({ name }) => name).filter((name) => !name.startsWith(SAVED));
}
