import { migrate } from '@makerbook/postgres';
import type { ServerConnection } from '@makerbook/settings';
import type { Outcome } from './outcome.js';

/**
 * Brings the schema of the read model up to this build, and the rights of the services' roles; repeated, it changes nothing.
 * @param connection of a Postgres role that may change the schema
 * @throws SchemaMismatch when a step that was taken before reads differently now; PostgresUnavailable
 */
export async function migrateDatabase(connection: ServerConnection): Promise<Outcome> {
  let granted: readonly string[] = [];
  const taken = await migrate({
    ...connection,
    onGranted: (roles) => {
      granted = roles;
    },
  });
  const steps = taken.length === 0 ? ['nothing to do'] : taken.map((name) => `${name}: applied`);
  return { lines: [...steps, `roles with rights of their own: ${granted.join(', ') || 'none'}`], exitCode: 0 };
}
