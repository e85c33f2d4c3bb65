import { randomBytes } from 'node:crypto';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import {
  getLimitOrderHistoryRequestTypes,
  getLimitOrderRequestTypes,
  getLimitOrdersRequestTypes,
  streamLimitOrdersRequestTypes,
  typedDataDomain,
} from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import { checkTraffic } from '@makerbook/contracts-http/testing';
import type { Hex } from '@makerbook/contracts-primitives';
import { connectLog } from '@makerbook/kafka';
import { createRedisUser, openTcpGate, testParts, until } from '@makerbook/parts';
import { connectPostgres, migrate, takeProjection } from '@makerbook/postgres';
import { connectRedis } from '@makerbook/redis';
import { readSettings } from '@makerbook/settings';
import { silentLogger } from '@makerbook/telemetry';
import { type HDNodeWallet, Wallet } from 'ethers';
import { querySettings } from '../env.js';
import { type Query, runQuery } from '../run.js';
import { domain, FakeProjector, partitions } from './fake-projector.js';

const SLOW_MS = 30_000;

/** The parts around one query service, with a fake projector. */
export type TestQuery = Awaited<ReturnType<typeof openTestQuery>>;

/** Starts a query service over real parts; Redis and Postgres can be cut off from it. */
export async function openTestQuery(environment: Record<string, string> = {}) {
  const parts = testParts();
  const id = randomBytes(5).toString('hex');
  const names = topicNames(`query-${id}.`);
  const log = connectLog({ brokers: parts.kafkaBrokers.split(','), clientId: 'test', logger: silentLogger });
  await log.createTopics(topicSpecs(names, partitions).map((spec) => ({ ...spec, replicationFactor: 1 })));
  const databaseUrl = await parts.databaseUrl();
  await migrate({ url: databaseUrl, connectTimeoutMs: SLOW_MS });
  const postgres = connectPostgres({ url: databaseUrl, connectTimeoutMs: SLOW_MS, statementTimeoutMs: SLOW_MS });
  const keyPrefix = `q${id}:`;
  const redis = connectRedis({
    url: parts.redisUrl,
    keyPrefix,
    logger: silentLogger,
    commandTimeoutMs: SLOW_MS,
    connectTimeoutMs: SLOW_MS,
  });
  await redis.waitUntilReady(SLOW_MS);
  const appender = log.createAppender({ lingerMs: 0, timeoutMs: SLOW_MS });
  const user = await createRedisUser(parts.redisUrl, 'query', keyPrefix);
  const gates = { redis: await openTcpGate(user.url), postgres: await openTcpGate(databaseUrl) };
  for (let partition = 0; partition < partitions; partition += 1) await takeProjection(postgres, partition);
  await postgres.query('update trust set is_trusted = true');

  const settings = readSettings(querySettings, {
    PORT: '0',
    OPS_PORT: '0',
    KAFKA_BROKERS: parts.kafkaBrokers,
    PARTITIONS: String(partitions),
    TOPIC_PREFIX: `query-${id}.`,
    DATABASE_URL: gates.postgres.url,
    REDIS_URL: gates.redis.url,
    REDIS_KEY_PREFIX: keyPrefix,
    SERVICE_NAME: domain.serviceName,
    CHAIN_ID: String(domain.chainId),
    LIMIT_ORDER_PROTOCOL_ADDRESS: domain.verifyingContract,
    ...environment,
  });
  const telemetry = {
    logger: silentLogger,
    serveMetrics: (_: unknown, response: { end: () => void }) => response.end(),
  };
  const query: Query = await runQuery(settings, telemetry);
  const endTraffic = checkTraffic(({ port }) => port === String(query.port));
  /** Everything in Redis is gone at once. */
  async function flush(): Promise<void> {
    const keys = await redis.client.keys(`${redis.keys.prefix}*`);
    if (keys.length > 0) await redis.client.del(...keys);
  }

  const opsUrl = `http://127.0.0.1:${query.opsPort}`;
  const projector = new FakeProjector({ appender, topics: names, postgres });

  return {
    opsUrl,
    isReady: async () => (await fetch(`${opsUrl}/readyz`)).ok,
    ...requestsTo(`http://127.0.0.1:${query.port}`, projector),
    projector,
    flush,
    postgres,
    gates,
    stop: async () => {
      await query.stop();
      await Promise.all([redis.close(), postgres.close(), appender.close()]);
      await log.close();
      await Promise.all([gates.redis.close(), gates.postgres.close(), user.remove()]);
      endTraffic();
    },
  };
}

/** Requests as makers send them. */
function requestsTo(baseUrl: string, projector: FakeProjector) {
  const send = (path: string, init?: RequestInit) => fetch(`${baseUrl}${path}`, init);
  /** Signs a request of the maker and sends it. @param more of the query */
  async function ask(what: keyof typeof requestTypes, wallet: HDNodeWallet, more = '', init?: RequestInit) {
    return send(`${paths[what]}?${await signRead(wallet, what)}${more}`, init);
  }
  /** A new maker, whom the service knows. */
  async function admitMaker(): Promise<HDNodeWallet> {
    const wallet = Wallet.createRandom();
    await projector.admit(wallet.address.toLowerCase() as Hex);
    await until(async () => (await ask('limitOrders', wallet)).status === 200);
    return wallet;
  }
  return { send, ask, admitMaker };
}

const requestTypes = {
  limitOrders: getLimitOrdersRequestTypes,
  limitOrder: getLimitOrderRequestTypes,
  history: getLimitOrderHistoryRequestTypes,
  stream: streamLimitOrdersRequestTypes,
};

/** The query string of a request, signed by ethers. @param message what it says besides its time */
export async function signRead(wallet: HDNodeWallet, what: keyof typeof requestTypes, message = {}) {
  const issuedAt = Math.floor(Date.now() / 1000);
  const salt = `0x${randomBytes(32).toString('hex')}`;
  const signed = { ...typedDataDomain(domain), salt };
  const signature = await wallet.signTypedData(signed, requestTypes[what], { ...message, issuedAt });
  return new URLSearchParams({ issuedAt: String(issuedAt), salt, signature });
}
