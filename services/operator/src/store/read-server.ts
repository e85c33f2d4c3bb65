import type { Postgres } from '@makerbook/postgres';

/** The version and the clock of Postgres. */
export interface ServerState {
  /** For people: `18.4`. */
  readonly version: string;
  /** For comparing: 180004. */
  readonly versionNumber: number;
  /** Its clock, in milliseconds since 1970. */
  readonly ms: number;
}

/** Reads version and clock. @throws PostgresUnavailable */
export async function readServer(postgres: Pick<Postgres, 'query'>): Promise<ServerState | undefined> {
  const [told] = await postgres.query<ServerState>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::int as "versionNumber",
       (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
  );
  return told;
}
