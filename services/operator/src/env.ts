import { integer, kafkaSettings, opsSettings, postgresSettings, type SettingsOf } from '@makerbook/settings';

export const settings = {
  ...kafkaSettings,
  TOPIC_REPLICATION_FACTOR: integer('Replicas of the topics that it creates', 3, { min: 1, max: 16 }),
  VISIBLE_WITHIN_MS: integer('How long a whitelist command waits until the services see its decision', 10_000),
  LOG_LEVEL: opsSettings.LOG_LEVEL,
};

/** The settings of `migrate`, which connects only to Postgres, with the rights to change the schema. */
export const migrateSettings = { ...postgresSettings };

export type OperatorSettings = SettingsOf<typeof settings>;
