import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

const CONNECT_TIMEOUT_MS = 30_000;
const RELOAD_POLL_MS = 20;

/**
 * Creates a database unless it exists.
 * @param serverUrl URL of a database on the server, with a user who may create databases
 * @returns the URL of the database `name`, with user and password
 */
export async function createDatabase(serverUrl: string, name: string): Promise<string> {
  await withClient(serverUrl, async (client) => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
    // The default template may be in use by another connection; this one never is.
    if (rowCount === 0) await client.query(`create database ${client.escapeIdentifier(name)} template template0`);
  });
  const url = new URL(serverUrl);
  url.pathname = `/${encodeURIComponent(name)}`;
  return url.href;
}

/**
 * Creates roles that may log in, unless they exist.
 * @param databaseUrl URL with a user who may create roles
 * @returns the same URL for each role, keyed by its name, which is also its password
 */
export async function createRoles<Name extends string>(
  databaseUrl: string,
  names: readonly Name[],
): Promise<Readonly<Record<Name, string>>> {
  await withClient(databaseUrl, async (client) => {
    for (const name of names) {
      const create = `create role ${client.escapeIdentifier(name)} login password ${client.escapeLiteral(name)}`;
      // Another process may create it at the same moment.
      await client.query(
        `do $$ begin ${create}; exception when duplicate_object or unique_violation then null; end $$`,
      );
    }
  });
  const urlOf = (name: string) => {
    const url = new URL(databaseUrl);
    url.username = name;
    url.password = name;
    return url.href;
  };
  return Object.fromEntries(names.map((name) => [name, urlOf(name)])) as Record<Name, string>;
}

/** Resolves when the server takes connections and answers; rejects with the driver's error otherwise. */
export async function pingDatabase(url: string): Promise<void> {
  await withClient(url, (client) => client.query('select 1'));
}

/** Has the server read its settings, keys and certificates again. Resolves when new connections use them. */
export async function reloadServer(url: string): Promise<void> {
  let before: unknown;
  await withClient(url, async (client) => {
    before = (await client.query('select pg_conf_load_time() as at')).rows[0];
    await client.query('select pg_reload_conf()');
  });
  const isRead = async () => {
    let now: unknown;
    await withClient(url, async (client) => {
      now = (await client.query('select pg_conf_load_time() as at')).rows[0];
    });
    return JSON.stringify(now) !== JSON.stringify(before);
  };
  while (!(await isRead())) await delay(RELOAD_POLL_MS);
}

async function withClient(url: string, ask: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await ask(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
