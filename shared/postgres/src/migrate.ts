import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { pause } from '@makerbook/contracts-primitives';
import type { ServerConnection } from '@makerbook/settings';
import pg from 'pg';
import { connectionOf, type Postgres, type PostgresOptions } from './connect-postgres.js';
import { classify } from './failures.js';
import { type Granted, grantRights } from './grant-rights.js';

/** One numbered step of the schema: `0001-read-model.sql`. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** The schema is not the one that this build was made for. */
export class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch';
}

const folder = new URL('../migrations/', import.meta.url);
const lock = 'makerbook migrations';
const LOCK_MS_MAX = 2_000;
const LOCK_PAUSE_MS = 1_000;
const LOCK_TRIES = 20;
/** The SQLSTATE of a lock timeout. */
const LOCK_NOT_AVAILABLE = '55P03';

/** The steps of this build, in their order. */
export function readMigrations(): Migration[] {
  const names = readdirSync(folder).filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name));
  return names.sort().map((name) => ({ name, sql: readFileSync(new URL(name, folder), 'utf8') }));
}

/**
 * Brings the schema up to this build: applies the missing steps in one transaction, one process at a time. A database
 * that is ahead of this build is left as it is: steps only add, so that an old process can continue, or they make it
 * answer 503. Waits briefly for a table in use, and again after a pause, because all later users wait behind this lock.
 * Gives the existing roles of the services their rights: see `grantRights`.
 * @param options.onGranted called with these roles
 * @returns the names of the steps that were applied
 * @throws SchemaMismatch if an applied step has been edited since; PostgresUnavailable, PostgresRefused
 */
export async function migrate(
  options: ServerConnection &
    Pick<PostgresOptions, 'schema' | 'connectTimeoutMs'> & { readonly onGranted?: (granted: Granted) => void },
  migrations: readonly Migration[] = readMigrations(),
): Promise<string[]> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await migrateOnce(options, migrations);
    } catch (error) {
      const isLocked = error instanceof pg.DatabaseError && error.code === LOCK_NOT_AVAILABLE;
      if (!isLocked || tries >= LOCK_TRIES) throw error instanceof SchemaMismatch ? error : classify(error);
    }
    await pause(LOCK_PAUSE_MS);
  }
}

async function migrateOnce(
  options: Parameters<typeof migrate>[0],
  migrations: readonly Migration[],
): Promise<string[]> {
  const { schema = 'public', connectTimeoutMs = 15_000 } = options;
  const client = new pg.Client({ ...connectionOf(options), connectionTimeoutMillis: connectTimeoutMs });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('begin');
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [lock]);
    // Do not wait long for a table: everybody who asks for it later waits behind this step.
    await client.query(`set local lock_timeout = '${LOCK_MS_MAX}ms'`);
    await client.query(`create schema if not exists ${pg.escapeIdentifier(schema)}`);
    await client.query(
      `create table if not exists migrations (
         name text primary key, checksum text not null, applied_at timestamptz not null default now())`,
    );
    const { rows } = await client.query<Applied>('select name, checksum from migrations');
    const missing = missingOf(rows, migrations);
    for (const migration of missing) {
      await client.query(migration.sql);
      const values = [migration.name, checksumOf(migration)];
      await client.query('insert into migrations (name, checksum) values ($1, $2)', values);
    }
    const granted = await grantRights(client, schema);
    await client.query('commit');
    options.onGranted?.(granted);
    return missing.map(({ name }) => name);
  } finally {
    // An unfinished transaction ends with its connection.
    await client.end().catch(() => {});
  }
}

/**
 * Throws if the schema lacks a step of this build, or holds another form of one. Needs only the right to read
 * `migrations`.
 * @throws SchemaMismatch, PostgresUnavailable, PostgresRefused
 */
export async function verifySchema(
  postgres: Pick<Postgres, 'query'>,
  migrations: readonly Migration[] = readMigrations(),
): Promise<void> {
  const [there] = await postgres.query<{ exists: boolean }>("select to_regclass('migrations') is not null as exists");
  const applied = there?.exists ? await postgres.query<Applied>('select name, checksum from migrations') : [];
  const missing = missingOf(applied, migrations).map(({ name }) => name);
  if (missing.length === 0) return;
  throw new SchemaMismatch(`the database lacks ${missing.join(', ')}: run \`operator migrate\` of this build first`);
}

/** The steps that are not applied yet. Throws SchemaMismatch if an applied step has been edited since. */
function missingOf(applied: readonly Applied[], migrations: readonly Migration[]): Migration[] {
  const known = new Map(applied.map(({ name, checksum }) => [name, checksum]));
  return migrations.filter((migration) => {
    const checksum = known.get(migration.name);
    if (checksum === undefined || checksum === checksumOf(migration)) return checksum === undefined;
    const { name } = migration;
    throw new SchemaMismatch(`${name} was edited after it had been applied: put it back and add a new migration`);
  });
}

interface Applied {
  readonly name: string;
  readonly checksum: string;
}

function checksumOf({ sql }: Migration): string {
  return createHash('sha256').update(sql).digest('hex');
}
