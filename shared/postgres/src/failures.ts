import { Unavailable } from '@makerbook/contracts-primitives';
import pg from 'pg';

/** Postgres cannot be reached, is starting or stopping, or did not answer in time. The same call may succeed later. */
export class PostgresUnavailable extends Unavailable {
  override readonly name = 'PostgresUnavailable';
}

/** A constraint of the read model refused a row: an invariant is broken, and a retry does not help. */
export class InvariantBroken extends Error {
  override readonly name = 'InvariantBroken';
}

/** Postgres refused the statement itself: a wrong schema, a missing right, a bug. A retry does not help. */
export class PostgresRefused extends Error {
  override readonly name = 'PostgresRefused';
}

/** A class (2 characters) or a code (5) of SQLSTATE after which the same statement may succeed. */
const retryableStates = [
  '08', // connection
  '28', // the login is refused: its password is being changed
  '40', // serialization failure, deadlock
  '53', // out of connections, memory or disk
  '57', // shutting down, starting up, cancelled by a timeout
  '58', // failed system call
  '25006', // a standby was reached during a fail-over
  '0A000', // likewise: a standby has no unlogged tables
  '3D000', // the database is missing: it is being restored
  '55P03', // a lock was not free in time
  '42P01', // a table is missing: the schema has not been migrated yet
  '42883', // a function is missing: likewise
  'XX', // an error within the server, such as a file that cannot grow
];

/** Turns what `pg` threw into one of the three classes above. */
export function classify(error: unknown): PostgresUnavailable | InvariantBroken | PostgresRefused {
  if (error instanceof PostgresUnavailable || error instanceof InvariantBroken || error instanceof PostgresRefused) {
    return error;
  }
  if (error instanceof pg.DatabaseError && error.code !== undefined) {
    const state = error.code;
    const said = `${error.message} (SQLSTATE ${state})`;
    if (retryableStates.some((known) => state.startsWith(known))) {
      return new PostgresUnavailable(`postgres is not available: ${said}`, { cause: error });
    }
    if (state.startsWith('23') || state.startsWith('22')) {
      const why = error.detail === undefined ? '' : `: ${error.detail}`;
      return new InvariantBroken(`the read model refused a row: ${said}${why}`, { cause: error });
    }
    return new PostgresRefused(`postgres refused: ${said}`, { cause: error });
  }
  if (error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError) throw error;
  const said = error instanceof AggregateError ? error.errors.map(String).join('; ') : messageOf(error);
  return new PostgresUnavailable(`postgres is not available: ${said}`, { cause: error });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
