import type { Postgres, Query } from '@makerbook/postgres';
import { readModelTables } from './compare-rows.js';

const tables = ['projections', ...Object.keys(readModelTables)];
const LOCK_TIMEOUT_MS = 2_000;

/**
 * Puts the tables of one schema in the place of those of another, with the rights that were granted on these, in one
 * transaction. A reader waits for some milliseconds; a projector finds older rows, and folds from there.
 * @throws PostgresUnavailable where a lock was not had within two seconds: nothing has happened, and it can be tried again
 */
export async function swapTables(postgres: Postgres, from: string, to: string): Promise<void> {
  await postgres.transaction(async (query) => {
    await query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await query(`lock table ${tables.map((table) => `${to}.${table}`).join(', ')} in access exclusive mode`);
    const grants = await readGrants(query, to);
    const replaced = `${from}_replaced`;
    await query(`create schema ${replaced}`);
    for (const table of tables) {
      await query(`alter table ${to}.${table} set schema ${replaced}`);
      await query(`alter table ${from}.${table} set schema ${to}`);
    }
    for (const grant of grants) await query(grant);
    await query(`drop schema ${replaced} cascade`);
  });
}

async function readGrants(query: Query, schema: string): Promise<string[]> {
  const rows = await query<{ statement: string }>(
    `select format('grant %s on %I.%I to %s', acl.privilege_type, $1::text, c.relname,
       case when acl.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(acl.grantee)) end) as statement
     from pg_class c join pg_namespace n on n.oid = c.relnamespace, aclexplode(c.relacl) acl
     where n.nspname = $1 and c.relname = any($2) and acl.grantee <> c.relowner`,
    [schema, tables],
  );
  return rows.map(({ statement }) => statement);
}
