import { migrate } from '@makerbook/postgres';
import type { ServerConnection } from '@makerbook/settings';
import type { Outcome } from './outcome.js';

/**
 * Brings the schema of the read model up to this build; repeated, it changes nothing.
 * @param connection of a Postgres role that may change the schema
 * @throws SchemaMismatch when a step that was taken before reads differently now; PostgresUnavailable
 */
export async function migrateDatabase(connection: ServerConnection): Promise<Outcome> {
  const taken = await migrate(connection);
  return { lines: taken.length === 0 ? ['nothing to do'] : taken.map((name) => `${name}: applied`), exitCode: 0 };
}
