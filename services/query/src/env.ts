import {
  apiSettings,
  feedSettings,
  integer,
  kafkaSettings,
  limitSettings,
  marketSettings,
  opsSettings,
  postgresSettings,
  redisSettings,
  type SettingsOf,
  signingSettings,
  telemetrySettings,
  walletSettings,
} from '@makerbook/settings';

export const querySettings = {
  ...opsSettings,
  ...apiSettings,
  ...kafkaSettings,
  ...postgresSettings,
  ...redisSettings,
  ...signingSettings,
  ...marketSettings,
  ...limitSettings,
  ...walletSettings,
  ...feedSettings,
  READ_WAIT_MS_MAX: integer("How long a GET waits for the maker's own writes", 1000, {
    max: 10_000,
  }),
  POSTGRES_POOL_MAX: integer('Connections to Postgres', 10, { min: 1, max: 100 }),
  STREAMS_MAX: integer('Streams of one process', 10_000, { min: 1 }),
  STREAMS_PER_MAKER_MAX: integer('Streams of one maker at one process', 10, { min: 1 }),
  ...telemetrySettings,
};

export type QuerySettings = SettingsOf<typeof querySettings>;
