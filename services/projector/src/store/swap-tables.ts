import type { Query } from '@makerbook/postgres';
import { readModelTables } from './compare-rows.js';

const tables = ['projections', ...Object.keys(readModelTables)];
const LOCK_TIMEOUT_MS = 2_000;

/**
 * Takes the lock of this name, and keeps it until the transaction ends, however long the transaction is idle.
 * @returns false if another transaction holds it
 */
export async function takeLock(query: Query, name: string): Promise<boolean> {
  await query('set local idle_in_transaction_session_timeout = 0');
  const sql = 'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as is_taken';
  const [row] = await query<{ is_taken: boolean }>(sql, [name]);
  return row?.is_taken === true;
}

/**
 * Keeps everybody else from the tables until the transaction ends.
 * @throws PostgresUnavailable if a lock is not free within two seconds
 */
export async function lockTables(query: Query, schema: string): Promise<void> {
  await query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
  await query(`lock table ${tables.map((table) => `${schema}.${table}`).join(', ')} in access exclusive mode`);
}

/**
 * Replaces the tables of one schema, which are locked, by those of another. The new tables get the rights that were
 * granted on the old ones. Ingress trusts the rows again once it has looked again.
 */
export async function swapTables(query: Query, from: string, to: string): Promise<void> {
  const grants = await readGrants(query, to);
  const replaced = `${from}_replaced`;
  await query(`create schema ${replaced}`);
  for (const table of tables) {
    await query(`alter table ${to}.${table} set schema ${replaced}`);
    await query(`alter table ${from}.${table} set schema ${to}`);
  }
  for (const grant of grants) await query(grant);
  await query(`delete from ${to}.trust`);
  await query(`drop schema ${replaced} cascade`);
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

export async function dropSchema(query: Query, schema: string): Promise<void> {
  await query(`drop schema if exists ${schema} cascade`);
}

/** The positions, keyed by partition; undefined within a block, where no fold of whole facts has the same rows. */
export async function readPositions(query: Query): Promise<bigint[] | undefined> {
  const rows = await query<{ partition: number; next_offset: bigint; block_parts: number }>(
    'select partition, next_offset, block_parts from projections',
  );
  if (rows.some(({ block_parts }) => block_parts > 0)) return undefined;
  const positions: bigint[] = [];
  for (const { partition, next_offset } of rows) positions[partition] = next_offset;
  return Array.from(positions, (position) => position ?? 0n);
}
