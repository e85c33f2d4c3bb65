import { randomBytes } from 'node:crypto';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import {
  getLimitOrderHistoryRequestTypes,
  getLimitOrderRequestTypes,
  getLimitOrdersRequestTypes,
  streamLimitOrdersRequestTypes,
  type TypedField,
  typedDataDomain,
} from '@makerbook/contracts-evm';
import { checkTraffic } from '@makerbook/contracts-http/testing';
import type { Hex } from '@makerbook/contracts-primitives';
import { connectLog } from '@makerbook/kafka';
import { createRedisUser, openTcpGate, testParts } from '@makerbook/parts';
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

/**
 * Starts a query service over real parts; Redis and Postgres can be cut off from it.
 * @param own parts other than those that tests share
 */
export async function openTestQuery(
  environment: Record<string, string> = {},
  own: { readonly redisUrl?: string; readonly kafkaBrokers?: string } = {},
) {
  const parts = { ...testParts(), ...own };
  const id = randomBytes(5).toString('hex');
  const names = topicNames(`query-${id}.`);
  const log = connectLog({ brokers: parts.kafkaBrokers.split(','), clientId: 'test', logger: silentLogger });
  await log.createTopics(topicSpecs(names, partitions).map((spec) => ({ ...spec, replicationFactor: 1 })));
  const databaseUrl = await parts.databaseUrl();
  await migrate({ url: databaseUrl, connectTimeoutMs: SLOW_MS });
  const postgres = connectPostgres({ url: databaseUrl, connectTimeoutMs: SLOW_MS, statementTimeoutMs: SLOW_MS });
  const keyPrefix = environment['REDIS_KEY_PREFIX'] ?? `q${id}:`;
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

  return {
    baseUrl: `http://127.0.0.1:${query.port}`,
    opsUrl: `http://127.0.0.1:${query.opsPort}`,
    projector: new FakeProjector({ appender, topics: names, postgres }),
    flush,
    redis,
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

/** A maker that nobody knows yet. */
export const newWallet = (): HDNodeWallet => Wallet.createRandom();

type TestSigner = Pick<HDNodeWallet, 'signTypedData'>;

/** The query string of a GET of a list, signed by ethers. */
export async function signList(
  wallet: TestSigner,
  overrides: { issuedAt?: number | bigint; salt?: Hex } = {},
): Promise<URLSearchParams> {
  return signRead(wallet, getLimitOrdersRequestTypes, {}, overrides);
}

/** The query string of a GET of one order, signed by ethers. */
export async function signOrderRequest(wallet: TestSigner, orderHash: string): Promise<URLSearchParams> {
  return signRead(wallet, getLimitOrderRequestTypes, { orderHash }, {});
}

/** The query string of a GET of the history, signed by ethers. */
export async function signHistoryRequest(wallet: TestSigner): Promise<URLSearchParams> {
  return signRead(wallet, getLimitOrderHistoryRequestTypes, {}, {});
}

/** Parameters of a stream. */
export async function signStreamRequest(wallet: TestSigner): Promise<URLSearchParams> {
  return signRead(wallet, streamLimitOrdersRequestTypes, {}, {});
}

async function signRead(
  wallet: TestSigner,
  types: Record<string, TypedField[]>,
  message: object,
  { issuedAt = Math.floor(Date.now() / 1000), salt = randomSalt() }: { issuedAt?: number | bigint; salt?: Hex },
): Promise<URLSearchParams> {
  const signed = { ...typedDataDomain(domain), salt: `0x${salt.slice(2).padStart(64, '0')}` };
  const signature = await wallet.signTypedData(signed, types, { ...message, issuedAt });
  return new URLSearchParams({ issuedAt: String(issuedAt), salt, signature });
}

const randomSalt = (): Hex => `0x${randomBytes(32).toString('hex')}`;
