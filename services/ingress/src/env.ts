import { ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import {
  address,
  apiSettings,
  integer,
  kafkaSettings,
  list,
  opsSettings,
  postgresSettings,
  readSettings,
  redisSettings,
  requestSettings,
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
  ...requestSettings,
  MAX_ORDERS_PER_POST: integer('Orders in one POST', 100, { min: 1, max: 500 }),
  MAX_OPEN_ORDERS_PER_MAKER: integer('Open orders of one maker', 1000, { min: 1, max: 1_000_000 }),
  MAX_CANCELS_PER_DELETE: integer('Order hashes in one DELETE', 100, { min: 1, max: 500 }),
  ORDER_BUDGET_PER_SECOND: integer("Orders per second by which a maker's budget fills", 100, { min: 1 }),
  ORDER_BUDGET_BURST: integer("Orders that a maker's full budget holds", 1000, { min: 1 }),
  CANCEL_BUDGET_PER_SECOND: integer("Cancellations per second by which a maker's budget fills", 500, { min: 1 }),
  CANCEL_BUDGET_BURST: integer("Cancellations that a maker's full budget holds", 5000, { min: 500 }),
  CLIENT_REQUESTS_MAX: integer('POSTs of one client address in one window; each 8 KiB of one count as one more', 6000, {
    min: 1,
  }),
  CANCEL_REQUESTS_MAX: integer('DELETEs of one client address in one window, counted likewise', 12_000, { min: 1 }),
  NAVIGATOR_ADDRESS: address(
    'The Navigator contract, `verifyingContract` of quotes. The zero address: quotes are not patched',
    ZERO_ADDRESS,
  ),
  QUOTE_SIGNERS: list(
    "Addresses whose signatures in quotes are taken, comma-separated; the service's own is always one of them",
    '',
  ),
  QUOTE_SIGNER_KEY: secret(
    'The key that signs patched quotes: 0x and 64 hex digits. Without a key quotes are not patched',
    '',
  ),
  PATCH_REQUESTS_MAX: integer('Patches of one client address in one window, counted likewise', 3000, { min: 1 }),
  REQUEST_TIMEOUT_MS: integer('A request has to arrive whole within this time', 10_000, { min: 100 }),
  DRAIN_MS: integer('Requests under way have this long to end when the service stops', 10_000, { min: 0 }),
  APPEND_LINGER_MS: integer('How long an append waits for others to share its produce request', 2, { max: 100 }),
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
