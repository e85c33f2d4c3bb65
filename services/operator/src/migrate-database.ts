import { type Granted, migrate, NO_LARGE_OBJECTS } from '@makerbook/postgres';
import type { ServerConnection } from '@makerbook/settings';
import type { Outcome } from './outcome.js';

/**
 * Brings the schema of the read model, and the rights of the services' roles, up to this build. Repeated, it changes
 * nothing.
 * @param connection for a Postgres role that may change the schema
 * @throws SchemaMismatch if a step that was taken before reads differently now; PostgresUnavailable
 */
export async function migrateDatabase(connection: ServerConnection): Promise<Outcome> {
  let granted: Granted = { roles: [], mayMakeLargeObjects: false };
  const taken = await migrate({
    ...connection,
    onGranted: (all) => {
      granted = all;
    },
  });
  const steps = taken.length === 0 ? ['nothing to do'] : taken.map((name) => `${name}: applied`);
  const roles = `roles with rights of their own: ${granted.roles.join(', ') || 'none'}`;
  const remedy = `they may make large objects, until a superuser runs in this database: ${NO_LARGE_OBJECTS}`;
  return { lines: [...steps, roles, ...(granted.mayMakeLargeObjects ? [remedy] : [])], exitCode: 0 };
}
