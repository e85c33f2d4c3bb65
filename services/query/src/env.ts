import {
  apiSettings,
  integer,
  kafkaSettings,
  opsSettings,
  postgresSettings,
  readSettings,
  redisSettings,
  replicaSettings,
  type SettingsOf,
  signingSettings,
  telemetrySettings,
} from '@makerbook/settings';

export const settings = {
  ...opsSettings,
  ...apiSettings,
  ...kafkaSettings,
  ...postgresSettings,
  ...replicaSettings,
  ...redisSettings,
  ...signingSettings,
  REQUEST_TTL_SECONDS: integer('How old a signed request may be', 30, { min: 1, max: 3600 }),
  CLOCK_SKEW_SECONDS: integer('How far `issuedAt` may lie ahead of the clock here', 5, { max: 600 }),
  READ_WAIT_MS_MAX: integer('How long a GET waits for the read model to reach the end of the log', 1000, {
    max: 10_000,
  }),
  CLIENT_REQUESTS_MAX: integer('Requests of one client address in one window', 6000, { min: 1 }),
  POSTGRES_POOL_MAX: integer('Connections to Postgres, and as many to its replica', 10, { min: 1, max: 100 }),
  ...telemetrySettings,
};

export type QuerySettings = SettingsOf<typeof settings>;

/** @throws SettingsError naming what is missing or wrong */
export function readEnvironment(environment: Record<string, string | undefined>): QuerySettings {
  return readSettings(settings, environment);
}
