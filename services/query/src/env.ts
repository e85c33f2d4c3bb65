import {
  apiSettings,
  feedSettings,
  integer,
  kafkaSettings,
  limitSettings,
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
  ...limitSettings,
  ...feedSettings,
  READ_WAIT_MS_MAX: integer('How long a GET waits for the read model to reach the end of the log', 1000, {
    max: 10_000,
  }),
  POSTGRES_POOL_MAX: integer('Connections to Postgres, and as many to its replica', 10, { min: 1, max: 100 }),
  ...telemetrySettings,
};

export type QuerySettings = SettingsOf<typeof settings>;

/** @throws SettingsError naming what is missing or wrong */
export function readEnvironment(environment: Record<string, string | undefined>): QuerySettings {
  return readSettings(settings, environment);
}
