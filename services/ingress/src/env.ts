import {
  apiSettings,
  integer,
  kafkaSettings,
  limitSettings,
  list,
  opsSettings,
  postgresSettings,
  readSettings,
  redisSettings,
  type SettingsOf,
  secret,
  signingSettings,
  telemetrySettings,
} from '@makerbook/settings';

/** Every setting of the service. A test compares it with the table in the README. */
export const settings = {
  ...kafkaSettings,
  ...postgresSettings,
  ...redisSettings,
  ...signingSettings,
  ...opsSettings,
  ...apiSettings,
  ...limitSettings,
  QUOTE_SIGNERS: list(
    "Addresses whose signatures in quotes are taken, comma-separated; the service's own is always one of them",
    '',
  ),
  QUOTE_SIGNER_KEY: secret(
    'The key that signs patched quotes: 0x and 64 hex digits. Without a key quotes are not patched',
    '',
  ),
  APPEND_LINGER_MS: integer('How long after an append others wait, to share a produce request', 2, { max: 100 }),
  APPEND_TIMEOUT_MS: integer('The log has to acknowledge within this time', 5000, { min: 100, max: 60_000 }),
  REDIS_TIMEOUT_MS: integer(
    'A Redis that is connected has to answer within this time; one that is lost is an error at once',
    1500,
    { min: 10 },
  ),
  PROJECTION_WAIT_MS: integer('How long to wait for the read model to reach the end of the log', 1000, { min: 0 }),
  PROJECTION_LAG_SECONDS_MAX: integer(
    'POST answers 503 while the read model has been behind the log for longer than this',
    60,
    { min: 1 },
  ),
  COLD_WAIT_MS: integer(
    'How long a POST waits for the projector to refresh a flushed Redis, or for another request with the same order',
    2000,
    { min: 0 },
  ),
  ...telemetrySettings,
};

export type IngressSettings = SettingsOf<typeof settings>;

/** Reads the environment. Throws SettingsError naming all that is wrong. */
export function readEnvironment(environment: Record<string, string | undefined>): IngressSettings {
  return readSettings(settings, environment);
}
