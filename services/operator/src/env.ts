import { integer, kafkaSettings, opsSettings, postgresSettings, type SettingsOf } from '@makerbook/settings';

export const settings = {
  ...kafkaSettings,
  TOPIC_REPLICATION_FACTOR: integer('Replicas of every topic that is created', 3, { min: 1, max: 16 }),
  VISIBLE_WITHIN_MS: integer('How long a whitelist command waits until the services can see what it wrote', 10_000),
  LOG_LEVEL: opsSettings.LOG_LEVEL,
};

/** What `migrate` needs: it reaches Postgres alone, with the rights to change the schema. */
export const migrateSettings = { ...postgresSettings };

export type OperatorSettings = SettingsOf<typeof settings>;
