import {
  feedSettings,
  integer,
  kafkaSettings,
  opsSettings,
  postgresSettings,
  type SettingsOf,
  telemetrySettings,
} from '@makerbook/settings';

const foldSettings = {
  ...feedSettings,
  BATCH_FACTS_MAX: integer('Facts of one partition in one batch', 1000, {
    min: 1,
    max: 10_000,
  }),
  COMMIT_TRANSITIONS_MAX: integer(
    'Changes of orders in one commit. At this bound the fold waits for the commit. The orders of one maker are never split',
    5_000,
    { min: 1, max: 10_000 },
  ),
  COMMIT_FACTS_MAX: integer('Facts in one commit, with the same wait', 10_000, { min: 1, max: 10_000 }),
  COMMITS_AT_ONCE_MAX: integer('Commits at once, 20 ms apart or more; partitions that wait share the next one', 2, {
    min: 1,
    max: 100,
  }),
  QUARANTINED_MAKERS_MAX: integer(
    'Makers in quarantine in the partitions of one process; if a new one would exceed it, the process stops',
    20,
  ),
  HELD_ORDERS_PER_PARTITION_MAX: integer(
    'Makers and open orders held in memory for each partition, including uncommitted changes; one maker may exceed it',
    15_000,
  ),
};

/** Every setting of the projector; README.md holds them as a table. */
export const projectorSettings = {
  ...kafkaSettings,
  ...postgresSettings,
  ...opsSettings,
  ...foldSettings,
  POSTGRES_CONNECTIONS_MAX: integer('Connections to Postgres', 10, { min: 2, max: 100 }),
  STATEMENT_TIMEOUT_MS: integer('Time limit for a statement in Postgres', 10_000, { min: 100 }),
  HISTORY_DAYS: integer('Days for which Postgres keeps the history of orders', 30, {
    min: 1,
    max: 36_500,
  }),
  LIVE_SILENCE_MS_MAX: integer('Not alive when no fetch ends for this long, answered or not', 300_000, {
    min: 10_000,
  }),
  ...telemetrySettings,
};

/** The settings of the commands that replay the log beside a running projector. */
export const rebuildSettings = {
  ...kafkaSettings,
  ...postgresSettings,
  LOG_LEVEL: opsSettings.LOG_LEVEL,
  ...foldSettings,
};

/** The settings of a fold, whether it publishes or runs beside one that does. */
export type FoldSettings = Pick<RebuildSettings, keyof typeof foldSettings | 'PARTITIONS' | 'TOPIC_PREFIX'>;
export type ProjectorSettings = SettingsOf<typeof projectorSettings>;
export type RebuildSettings = SettingsOf<typeof rebuildSettings>;
