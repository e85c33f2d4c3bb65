import {
  addresses,
  apiSettings,
  integer,
  kafkaSettings,
  limitSettings,
  names,
  opsSettings,
  postgresSettings,
  type SettingsOf,
  secret,
  signingSettings,
  telemetrySettings,
  walletSettings,
} from '@makerbook/settings';
import { z } from 'zod';
import { loadSigner } from './acknowledge/load-signer.js';

const signerKey = (description: string) =>
  secret(
    description,
    '',
    z.string().refine((key) => key === '' || loadSigner(key) !== undefined, {
      error: 'must be a key of secp256k1: 0x and 64 hex digits',
    }),
  );

/** Every setting of the service. A test compares it with the table in the README. */
export const ingressSettings = {
  ...kafkaSettings,
  ...postgresSettings,
  ...signingSettings,
  ...opsSettings,
  ...apiSettings,
  ...limitSettings,
  ...walletSettings,
  QUOTE_SIGNERS: addresses(
    "Addresses whose signatures in quotes are accepted, comma-separated, besides the service's own",
  ),
  QUOTE_SIGNER_KEY: signerKey('The key that signs patched quotes: 0x and 64 hex digits. Empty: quotes are not patched'),
  RECEIPT_SIGNER_KEY: signerKey('The key that signs receipts, one of `RECEIPT_SIGNERS`. Empty: no receipts'),
  ROUTERS: names('Names of the routers that `Prefer: wait=N; by=router` waits for, comma-separated'),
  APPEND_LINGER_MS: integer('How long appends wait after another one, to share a produce request', 2, { max: 100 }),
  APPEND_TIMEOUT_MS: integer('Time limit for the log to acknowledge', 5000, { min: 100, max: 25_000 }),
  POSTGRES_CONNECTIONS_MAX: integer('Connections to Postgres', 10, { min: 1, max: 100 }),
  POSTGRES_TIMEOUT_MS: integer('Time limit for Postgres to answer', 2000, { min: 100, max: 25_000 }),
  PROJECTION_LAG_SECONDS_MAX: integer(
    'POST answers 503 while an appended fact is missing in the rows for longer than this',
    60,
    { min: 1 },
  ),
  PLACE_WAIT_MS: integer('How long a POST waits for another request with the same order', 1000, {
    min: 0,
  }),
  UNKNOWN_HASHES_PER_CLIENT_MAX: integer(
    '`NOT_FOUND` answers to one client address in half a minute; more are 503',
    20_000,
    { min: 1 },
  ),
  UNKNOWN_HASHES_MAX: integer('The same for all clients of a process', 200_000, { min: 1 }),
  ...telemetrySettings,
};

export type IngressSettings = SettingsOf<typeof ingressSettings>;
