import { isIP } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Hex } from '@makerbook/contracts-primitives';
import type { RedisServers } from '@makerbook/settings';
import { type Logger, timeOperations } from '@makerbook/telemetry';
import { Cluster, Redis } from 'ioredis';

export interface ConnectRedisOptions extends RedisServers {
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** Shown by Redis in CLIENT LIST. */
  readonly clientName?: string;
  /** A command is answered or refused within this time. Default 500. */
  readonly commandTimeoutMs?: number;
  /** How long one connection may take to open. Default 1000. */
  readonly connectTimeoutMs?: number;
}

/** The connection to Redis. It reconnects by itself. While Redis is down, or if there is none, calls end at once. */
export interface RedisConnection {
  readonly keys: RedisKeys;
  /** Takes one round trip. False if Redis is down, cannot serve, or does not answer within `commandTimeoutMs`. */
  isThere(): Promise<boolean>;
  /** Resolves with true as soon as Redis is ready, or with false after `timeoutMs`. */
  waitUntilReady(timeoutMs: number): Promise<boolean>;
  /**
   * Runs commands on the client. In a cluster, all their keys must be in one slot. Undefined if Redis is down or cannot
   * serve: what the commands did is unknown then.
   */
  attempt<T>(commands: (client: Redis) => Promise<T>): Promise<T | undefined>;
  close(): Promise<void>;
}

/**
 * Connects without waiting. Queues nothing while Redis is down, so calls fail fast and never hang. Sends nothing twice:
 * if the answer to a command was lost, only the caller may decide to run the command again.
 */
export function connectRedis(options: ConnectRedisOptions): RedisConnection {
  const client = openClient(options);
  if (options.url === '') client.disconnect();
  else {
    logOutages(client, options.logger);
    // The client retries a failed connection, and reports it as an event.
    client.connect().catch(() => undefined);
  }

  const time = timeOperations('redis');
  async function attempt<T>(commands: (client: Redis) => Promise<T>): Promise<T | undefined> {
    gatherWrites(client);
    try {
      return await time(() => commands(client));
    } catch (error) {
      if (isOutage(error)) return undefined;
      throw error;
    }
  }

  return {
    keys: redisKeys(options.keyPrefix),
    isThere: async () => (await client.ping().catch(() => undefined)) !== undefined,
    waitUntilReady: (timeoutMs) => waitUntilReady(client, timeoutMs),
    attempt,
    async close() {
      // QUIT waits for commands in flight. If Redis is gone, it fails at once.
      await client.quit().catch(() => undefined);
      client.disconnect();
    },
  };
}

/**
 * Sends the commands of one round of the event loop in one write. Under load a system call for each costs more than the
 * commands themselves. The client's own pipelining does not do: there a command waits for the answers to earlier ones,
 * beyond its timeout.
 */
function gatherWrites({ stream }: Redis): void {
  if (stream === undefined || stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}

function openClient(options: ConnectRedisOptions): Redis {
  const { url, mode = 'single', password, sentinelPassword, tls } = options;
  const { commandTimeoutMs = 500, connectTimeoutMs = 1000 } = options;
  const servers = url === '' ? [] : url.split(',').map((each) => addressOf(each.trim()));
  const [first] = servers;
  const retryStrategy = (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 5), 1000);
  const common = {
    lazyConnect: true,
    ...(first && { username: first.username, password: first.password, db: first.db }),
    ...(tls && { tls }),
    ...(options.clientName === undefined ? {} : { connectionName: options.clientName }),
    connectTimeout: connectTimeoutMs,
    commandTimeout: commandTimeoutMs,
    // Give up a connection to a server that accepts and never answers. Then calls fail at once, not one after another.
    socketTimeout: commandTimeoutMs * 2,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // This primary has become a replica: reconnect to find the new primary.
    reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
    noDelay: true,
  };
  /** Each attempt to connect reads the passwords again. While no Sentinel answers, no event comes between attempts. */
  const readPasswords = ({ options: own }: Redis) => {
    for (const [name, get] of Object.entries({ password, sentinelPassword }))
      if (get !== undefined) Object.defineProperty(own, name, { get, enumerable: true });
  };
  if (mode === 'cluster') {
    const cluster = new Cluster(servers, {
      lazyConnect: true,
      enableOfflineQueue: false,
      clusterRetryStrategy: retryStrategy,
      slotsRefreshTimeout: connectTimeoutMs,
      retryDelayOnFailover: 0,
      // Keep the name: a host's certificate is issued for it.
      dnsLookup: (name, done) => done(null, name),
      redisOptions: common,
    });
    cluster.on('+node', readPasswords);
    // A cluster has the same commands, and sends each to the server that has its keys.
    return cluster as unknown as Redis;
  }
  const client = new Redis({
    ...common,
    enableOfflineQueue: false,
    retryStrategy,
    ...(mode === 'single'
      ? {
          ...(first && { host: first.host, port: first.port }),
          ...(tls && { tls: withServerName(tls, first?.host) }),
        }
      : {
          name: options.sentinelMaster ?? 'mymaster',
          sentinels: servers,
          sentinelCommandTimeout: connectTimeoutMs,
          ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
        }),
  });
  readPasswords(client);
  return client;
}

function addressOf(url: string) {
  const { hostname, port, username, password, pathname } = new URL(url);
  return {
    host: hostname.replace(/^\[(.+)\]$/, '$1'),
    port: Number(port || 6379),
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    db: Number(pathname.slice(1)),
  };
}

/** Adds the server name: proxies in front of managed servers choose the server by it. */
function withServerName<T extends object>(tls: T, host = ''): T & { servername?: string } {
  const named = isIP(host) === 0 ? { servername: host } : {};
  // Copy getters, not values: each connection reads the values again.
  return Object.defineProperties(named, Object.getOwnPropertyDescriptors(tls)) as T;
}

/** True for every error that is no bug: no request may fail because of Redis. */
function isOutage(error: unknown): boolean {
  return error instanceof Error && !(error instanceof TypeError || error instanceof RangeError);
}

function logOutages(client: Redis, logger: ConnectRedisOptions['logger']): void {
  let isAway = false;
  client.on('ready', () => {
    if (isAway) logger.info({}, 'Redis is back');
    isAway = false;
  });
  client.on('error', (error: Error) => {
    if (!isAway) logger.warn({ reason: error.message }, 'Redis is down');
    isAway = true;
  });
  client.on('close', () => {
    if (!isAway && client.status !== 'end') logger.warn({}, 'the connection to Redis was lost');
    isAway = true;
  });
}

async function waitUntilReady(client: Redis, timeoutMs: number): Promise<boolean> {
  if (client.status !== 'ready' && client.status !== 'end') {
    const ready = new Promise((resolve) => client.once('ready', resolve));
    await Promise.race([ready, pause(timeoutMs, undefined, { ref: false })]);
  }
  return client.status === 'ready';
}

type RedisKeys = ReturnType<typeof redisKeys>;

/**
 * Every key in Redis. A cluster places a key by the part in braces.
 * @param prefix put before every key, so that several deployments can share a Redis.
 */
export function redisKeys(prefix: string) {
  return {
    /** HASH: what is left of the maker's budget of lists. */
    listBudget: (maker: Hex) => `${prefix}q:{${maker}}`,
    /** STRING: a signed request that was accepted, by signer and salt. It expires with the request's window. */
    replay: (signer: Hex, salt: Hex) => `${prefix}g:{${signer}}:${salt}`,
  };
}
