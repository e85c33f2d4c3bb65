import {
  addresses,
  apiSettings,
  integer,
  kafkaSettings,
  limitSettings,
  opsSettings,
  postgresSettings,
  type SettingsOf,
  secret,
  signingSettings,
  telemetrySettings,
} from '@makerbook/settings';
import { z } from 'zod';
import { readKey } from './read-key.js';

/** Every setting of the service. A test compares it with the table in the README. */
export const ingressSettings = {
  ...kafkaSettings,
  ...postgresSettings,
  ...signingSettings,
  ...opsSettings,
  ...apiSettings,
  ...limitSettings,
  QUOTE_SIGNERS: addresses(
    "Addresses whose signatures in quotes are taken, comma-separated; the service's own is always one of them",
  ),
  QUOTE_SIGNER_KEY: secret(
    'The key that signs patched quotes: 0x and 64 hex digits. Without a key quotes are not patched',
    '',
    z.string().refine((key) => key === '' || readKey(key) !== undefined, {
      error: 'must be a key of secp256k1: 0x and 64 hex digits',
    }),
  ),
  APPEND_LINGER_MS: integer('How long after an append others wait, to share a produce request', 2, { max: 100 }),
  APPEND_TIMEOUT_MS: integer('The log has to acknowledge within this time', 5000, { min: 100, max: 60_000 }),
  POSTGRES_CONNECTIONS_MAX: integer('Connections to Postgres', 10, { min: 1, max: 100 }),
  POSTGRES_TIMEOUT_MS: integer('Postgres has to answer within this time', 2000, { min: 100, max: 60_000 }),
  PROJECTION_LAG_SECONDS_MAX: integer(
    'POST answers 503 while something that was appended has not been in the read model for longer than this',
    60,
    { min: 1 },
  ),
  PLACE_WAIT_MS: integer('How long a POST waits for another request that places or cancels the same order', 1000, {
    min: 0,
  }),
  UNKNOWN_HASHES_PER_CLIENT_MAX: integer(
    'Unknown hashes of which DELETEs of one client address are told in half a minute; more are answered with 503',
    20_000,
    { min: 1 },
  ),
  UNKNOWN_HASHES_MAX: integer('The same for all clients of a process together', 200_000, { min: 1 }),
  ...telemetrySettings,
};

export type IngressSettings = SettingsOf<typeof ingressSettings>;
