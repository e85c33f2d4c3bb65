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

/** The connection to Redis. It reconnects by itself; while Redis is away, or without one, calls end at once. */
export interface RedisConnection {
  readonly keys: RedisKeys;
  /** One round trip; false where Redis is away, cannot serve, or does not answer within `commandTimeoutMs`. */
  isThere(): Promise<boolean>;
  /** Resolves with true as soon as Redis is there, with false after `timeoutMs`. */
  waitUntilReady(timeoutMs: number): Promise<boolean>;
  /**
   * Runs commands on the client; in a cluster, with keys of one slot. Undefined where Redis is lost or cannot serve:
   * what the commands did is unknown then.
   */
  attempt<T>(commands: (client: Redis) => Promise<T>): Promise<T | undefined>;
  close(): Promise<void>;
}

/**
 * Connects without waiting. Nothing is queued while Redis is away and nothing is sent twice: a lost Redis costs a fast
 * error and never a hang, and a command of which the answer was lost is not run again behind the caller's back.
 */
export function connectRedis(options: ConnectRedisOptions): RedisConnection {
  const client = openClient(options);
  if (options.url === '') client.disconnect();
  else {
    logOutages(client, options.logger);
    // A failed connection is tried again, and reported as an event.
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
      // QUIT lets commands under way be answered; a Redis that is gone is left at once.
      await client.quit().catch(() => undefined);
      client.disconnect();
    },
  };
}

/**
 * Commands of one round of the event loop leave in one write. Under load a system call for each costs more than the
 * commands themselves. Not the client's own pipelining: there a command waits for the answers to those before, beyond
 * its time.
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
    // A server that accepts and never answers: give the connection up, so that calls fail at once instead of one after
    // another.
    socketTimeout: commandTimeoutMs * 2,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // A primary that has become a replica: another one has its place.
    reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
    noDelay: true,
  };
  /** Each try to connect reads the passwords anew: where no Sentinel answers, nothing is closed between two tries. */
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
      // A host's certificate is for its name.
      dnsLookup: (name, done) => done(null, name),
      redisOptions: common,
    });
    cluster.on('+node', readPasswords);
    // It has the same commands, and sends each to the server that has its keys.
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

/** Proxies in front of managed servers choose the server by it. */
function withServerName<T extends object>(tls: T, host = ''): T & { servername?: string } {
  const named = isIP(host) === 0 ? { servername: host } : {};
  // Not its values: each connection reads them anew.
  return Object.defineProperties(named, Object.getOwnPropertyDescriptors(tls)) as T;
}

/** Whatever Redis answers instead of a result: nothing may fail for it. */
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
    if (!isAway) logger.warn({ reason: error.message }, 'Redis is away');
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
 * Every key in Redis. A cluster places a key by what is in braces.
 * @param prefix put before every key, so that several deployments can share a Redis.
 */
export function redisKeys(prefix: string) {
  return {
    /** HASH: what is left of the signer's budget of lists. */
    listBudget: (signer: Hex) => `${prefix}q:{${signer}}`,
    /** STRING: a signed request that was answered, by signer and salt. It expires with the request's window. */
    replay: (signer: Hex, salt: Hex) => `${prefix}g:{${signer}}:${salt}`,
  };
}
