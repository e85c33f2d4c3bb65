import pg from 'pg';

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Creates a database unless it exists.
 * @param serverUrl URL of a database on that server whose user may create others
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

/** Resolves when the server takes connections and answers; rejects with the driver's error otherwise. */
export async function pingDatabase(url: string): Promise<void> {
  await withClient(url, (client) => client.query('select 1'));
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
