import { ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import {
  address,
  addresses,
  choice,
  integer,
  list,
  port,
  privateKey,
  readSettings,
  type Setting,
  type SettingsOf,
  secret,
  text,
  variablesOf,
} from '@makerbook/settings';
import { z } from 'zod';

const own = 'own';

/** Makes `own` the default of a setting. */
const ownUnless = <T>({ schema, ...rest }: Setting<T>): Setting<T | typeof own> => ({
  ...rest,
  fallback: own,
  schema: z.string().transform((value, context) => {
    if (value === own) return own;
    const { data, error } = schema.safeParse(value);
    if (error === undefined) return data as T;
    context.addIssue(error.issues[0]?.message ?? 'wrong');
    return z.NEVER;
  }),
});

/** Settings of `npm start`. Other variables of the environment reach the services unchanged. */
export const stackSettings = {
  PORT: port('Port of the base URL; 0: any free one', 8080),
  HOST: choice(
    'Address of the base URL: `0.0.0.0` or `::` lets other machines reach it, and nothing else',
    ['127.0.0.1', '0.0.0.0', '::'],
    '127.0.0.1',
  ),
  HOST_NAMES: list(
    'If `HOST` opens it: names for the `Host` of requests besides those of this machine, comma-separated',
    '',
  ),
  MAKERBOOK_DATA: text('Folder for the data and logs of everything', '.local'),
  KAFKA_BROKERS: text('Used instead of a Kafka of its own', own),
  KAFKA_NODES: integer('Brokers of a Kafka of its own. With 3, any one may be lost', 1, { min: 1, max: 3 }),
  DATABASE_URL: secret('Used instead of a Postgres of its own', own),
  REDIS_URL: secret('Used instead of a Redis of its own', own),
  RPC_URL: secret('Used instead of a chain of its own', own),
  DEPLOYER_KEY: privateKey(
    'With `RPC_URL`: the key of an account with coins there. It deploys the contracts and becomes a maker',
    '',
  ),
  WALLET_RPC_URL: secret('Nodes through which contract wallets are asked; `own`: the chain; empty: only keys sign', ''),
  SERVICE_NAME: text('The EIP-712 domain name is `<SERVICE_NAME> Limit Order Protocol`', 'Makerbook'),
  CHAIN_ID: integer('Id of the chain', 8217, { min: 1 }),
  LIMIT_ORDER_PROTOCOL_ADDRESS: ownUnless(
    address('Used instead of one of its own; with `RPC_URL` too, no contracts are deployed'),
  ),
  MULTICALL_ADDRESS: address(
    'Multicall3. The zero address: the deployed one, else `0xca11bde05977b3631167028862be2a173976ca11`',
    ZERO_ADDRESS,
  ),
  NAVIGATOR_ADDRESS: address(
    'Navigator. The zero address: the deployed one; without one quotes are not patched',
    ZERO_ADDRESS,
  ),
  QUOTE_SIGNERS: ownUnless(
    addresses("Addresses whose quotes are taken, comma-separated; `own`: the service's and a well-known test account"),
  ),
  QUOTE_SIGNER_KEY: secret("The service's quote-signer key; `own`: made at the first start", own),
  RECEIPT_SIGNER_KEY: secret('The key that signs receipts; `own`: made at the first start', own),
  RECEIPT_SIGNERS: addresses('Addresses of former keys of receipts, comma-separated'),
  CHAIN_WATCHERS: integer('Chain-watchers: one publishes, the others stand by', 1, { min: 1, max: 3 }),
  LOG_BYTES_MAX: integer('A log file is cut when it is longer', 50_000_000, { min: 100_000 }),
};

export type StackSettings = SettingsOf<typeof stackSettings>;

/** @throws SettingsError naming what is wrong */
export function readStackEnvironment(environment: Record<string, string | undefined>): StackSettings {
  return readSettings(stackSettings, environment);
}

/** Returns the given value, or undefined if the stack starts its own part. */
export function given<T>(value: T): Exclude<T, typeof own> | undefined {
  return value === own ? undefined : (value as Exclude<T, typeof own>);
}

/** Returns the environment of the services, without npm's variables and without the secrets that the stack has read. */
export function inheritedOf(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const secrets = Object.entries(stackSettings).filter(([, setting]) => setting.secret);
  const own = new Set(['OPS_PORT', ...secrets.flatMap(([name, setting]) => variablesOf(name, setting))]);
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('npm_') && !own.has(name)));
}
