import { readFileSync } from 'node:fs';
import type { kafkaSettings, postgresSettings, redisSettings } from './deployment.js';
import { renew, SettingsError, type SettingsOf } from './settings.js';

/**
 * Certificates and key as PEM texts. The server's certificate and its host name are always verified. Each property
 * reads its file again, so the next connection takes a renewed one. Pass the object itself on, and copy nothing out of
 * it.
 */
export interface Tls {
  /** The authorities that sign the server's certificate; undefined: the machine's. */
  readonly ca?: string;
  /** The client certificate. */
  readonly cert?: string;
  readonly key?: string;
}

/** The connection to Kafka: brokers, certificates and credentials. */
export interface KafkaConnection {
  readonly brokers: readonly string[];
  readonly tls?: Tls;
  readonly sasl?:
    | {
        readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
        readonly username: string;
        /** Read at each connection, so the next one takes a renewed secret. */
        readonly password: () => string;
      }
    | { readonly mechanism: 'OAUTHBEARER'; readonly token: () => string };
}

/** The connection to Postgres or Redis. */
export interface ServerConnection {
  readonly url: string;
  /** Used instead of a password in the URL. Read at each connection. */
  readonly password?: () => string;
  readonly tls?: Tls;
}

/** The connection to Redis. */
export interface RedisServers extends ServerConnection {
  /** One server, or several nodes of a cluster or Sentinels, comma-separated. Empty: there is no Redis. */
  readonly url: string;
  /** The kind of servers that the URLs name. Default `single`. */
  readonly mode?: 'single' | 'cluster' | 'sentinel';
  /** The name that the Sentinels give the primary. */
  readonly sentinelMaster?: string;
  /** The password of the Sentinels. User and `password` are for the servers that they watch. */
  readonly sentinelPassword?: () => string;
  /** The prefix of every key. */
  readonly keyPrefix: string;
}

type KafkaSettings = SettingsOf<typeof kafkaSettings>;

/** @throws SettingsError naming the settings that do not fit together, or a file that cannot be read */
export function kafkaConnection(settings: KafkaSettings): KafkaConnection {
  const tls = readTls('KAFKA', settings);
  const sasl = readSasl(settings);
  return { brokers: settings.KAFKA_BROKERS, ...(tls && { tls }), ...(sasl && { sasl }) };
}

/** @throws SettingsError like `kafkaConnection` */
export function postgresConnection(settings: SettingsOf<typeof postgresSettings>): ServerConnection {
  return connectionOf('DATABASE', settings.DATABASE_URL, settings.DATABASE_PASSWORD, settings);
}

/** @throws SettingsError like `kafkaConnection` */
export function redisConnection(settings: SettingsOf<typeof redisSettings>): RedisServers {
  const { REDIS_URL: url, REDIS_MODE: mode, REDIS_SENTINEL_PASSWORD: sentinelPassword } = settings;
  if (mode === 'single' && url.includes(',')) {
    throw new SettingsError('REDIS_URL names several servers: set REDIS_MODE=cluster or REDIS_MODE=sentinel');
  }
  return {
    ...connectionOf('REDIS', url, settings.REDIS_PASSWORD, settings),
    mode,
    sentinelMaster: settings.REDIS_SENTINEL_MASTER,
    ...(sentinelPassword() !== '' && { sentinelPassword }),
    keyPrefix: settings.REDIS_KEY_PREFIX,
  };
}

function connectionOf(
  prefix: 'DATABASE' | 'REDIS',
  url: string,
  password: () => string,
  settings: Readonly<Record<string, unknown>>,
): ServerConnection {
  const hasPassword = password() !== '';
  if (hasPassword && url.split(',').some((each) => URL.canParse(each) && new URL(each).password !== '')) {
    throw new SettingsError(`${prefix}_PASSWORD and a password in the URL are both given: give one`);
  }
  const tls = readTls(prefix, settings);
  return { url, ...(hasPassword && { password }), ...(tls && { tls }) };
}

/** Reads the settings that `tlsSettings` describes. */
function readTls(prefix: string, settings: Readonly<Record<string, unknown>>): Tls | undefined {
  const [ca, cert, key] = ['CA', 'CERT', 'KEY'].map((part) => {
    const name = `${prefix}_TLS_${part}_FILE`;
    return { name, path: String(settings[name]) };
  }) as [PemFile, PemFile, PemFile];
  if (settings[`${prefix}_TLS`] === 'off') {
    if ([ca, cert, key].every(({ path }) => path === '')) return undefined;
    throw new SettingsError(`${ca.name}, ${cert.name} and ${key.name} need ${prefix}_TLS=on`);
  }
  if ((cert.path === '') !== (key.path === '')) {
    throw new SettingsError(`${cert.name} and ${key.name} are given together or not at all`);
  }
  const given = Object.entries({ ca, cert, key }).filter(([, { path }]) => path !== '');
  return Object.defineProperties({}, Object.fromEntries(given.map(([part, file]) => [part, renewable(file)])));
}

/** A property that reads the file each time. */
function renewable(file: PemFile): PropertyDescriptor {
  return { get: renew(() => readPem(file)), enumerable: true, configurable: true };
}

function readSasl(settings: KafkaSettings): KafkaConnection['sasl'] {
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: username } = settings;
  const { KAFKA_SASL_PASSWORD: password, KAFKA_SASL_TOKEN: token } = settings;
  const need = (name: string, value: string) => {
    if (value === '') throw new SettingsError(`KAFKA_SASL_MECHANISM=${mechanism} needs ${name}`);
  };
  if (mechanism === 'none') return undefined;
  if (mechanism === 'OAUTHBEARER') {
    need('KAFKA_SASL_TOKEN', token());
    return { mechanism, token };
  }
  need('KAFKA_SASL_USERNAME', username);
  need('KAFKA_SASL_PASSWORD', password());
  return { mechanism, username, password };
}

interface PemFile {
  readonly name: string;
  readonly path: string;
}

function readPem({ name, path }: PemFile): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new SettingsError(`${name}=${path} cannot be read: ${(error as Error).message}`);
  }
}
