import {
  integer,
  kafkaSettings,
  opsSettings,
  postgresSettings,
  redisSettings,
  type SettingsOf,
  text,
} from '@makerbook/settings';

/** Every setting of the projector; README.md holds them as a table. */
export const projectorSettings = {
  ...kafkaSettings,
  ...postgresSettings,
  ...redisSettings,
  ...opsSettings,
  ROUTING_GRACE_SECONDS: integer(
    "The router's feed drops an order this long before it expires; with another value a replay gives another feed",
    60,
  ),
  BATCH_FACTS_MAX: integer('Facts of one partition that are committed at once', 1000, { min: 1, max: 10_000 }),
  COMMIT_TRANSITIONS_MAX: integer(
    'Bound on the orders of one commit: on those that facts about funds change, and on those of makers for whom a block makes something due or has missed an order',
    5_000,
    { min: 1 },
  ),
  ORDERS_UNDER_WAY_MAX: integer(
    'Facts and due orders that all partitions of the process fold at once; a commit of more than a tenth of `COMMIT_TRANSITIONS_MAX` waits for its turn',
    10_000,
    { min: 1 },
  ),
  HALTED_MAKERS_MAX: integer(
    'Makers for whom the fold may break, in all partitions of the process; with one more it is the build that is broken, and the process stops',
    20,
  ),
  MARK_INTERVAL_MS: integer(
    'How often it is said up to where a partition’s feeds are complete, so that a chain-watcher can start from there',
    30_000,
  ),
  CACHED_ORDERS_PER_PARTITION_MAX: integer('Makers and open orders that are held in memory, for each partition', 5000),
  POSTGRES_CONNECTIONS_MAX: integer('Connections to Postgres', 10, { min: 2, max: 100 }),
  STATEMENT_TIMEOUT_MS: integer('A statement in Postgres is given up after this time', 10_000, { min: 100 }),
  LIVE_SILENCE_MS_MAX: integer('Not alive when no broker has answered the consumer loop for this long', 300_000, {
    min: 10_000,
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: text('Collector to which spans are sent; empty: none', ''),
};

export type ProjectorSettings = SettingsOf<typeof projectorSettings>;
