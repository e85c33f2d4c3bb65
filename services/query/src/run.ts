import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { createRequestHashers } from '@makerbook/contracts-evm';
import { methodsAt, paths } from '@makerbook/contracts-http';
import type { Hex } from '@makerbook/contracts-primitives';
import { type Route, type Running, serveApi, serveOps } from '@makerbook/http';
import { awaitTopics, connectLog } from '@makerbook/kafka';
import {
  connectPostgres,
  createWriteWatch,
  openReadModel,
  type Postgres,
  projectedBlock,
  type ReadModel,
  unlessAway,
  type WriteWatchOptions,
} from '@makerbook/postgres';
import { connectRedis, createListCache, createReplayGuard, holdLists, type RedisConnection } from '@makerbook/redis';
import { kafkaConnection, postgresConnection, redisConnection } from '@makerbook/settings';
import { recoveryLibrary } from '@makerbook/signatures';
import type { Logger, Telemetry } from '@makerbook/telemetry';
import { followMakers, type Makers } from '@makerbook/whitelist';
import { createDocumentRoutes, createInfoRoute } from './describe-service.js';
import type { QuerySettings } from './env.js';
import { createListFinder } from './find-lists.js';
import { reportHealth } from './health.js';
import { type ListOrdersParts, listOrders } from './list-orders.js';
import { createMetrics } from './metrics.js';
import { readList } from './read-list.js';

/** The query service as it runs. */
export interface Query extends Running {
  /** Where the API listens. */
  readonly port: number;
  readonly opsPort: number;
  /** Settles with the error after which the service cannot go on. */
  readonly failed: Promise<Error>;
}

/** What the process provides: its telemetry, and a clock that tests may set. */
export interface QueryParts {
  readonly telemetry: Pick<Telemetry, 'logger' | 'serveMetrics'>;
  readonly nowMs?: () => number;
}

const REDIS_START_MS_MAX = 2_000;
/** A Postgres that takes longer counts as away, and the list that is known is served. */
const STATEMENT_MS_MAX = 2_000;

/**
 * Starts the service that answers GET (Interface 4.2). Resolves when it listens; it is ready once it has read the
 * whitelist. Redis and Postgres may be away.
 * @throws TopicMismatch when a topic is missing or has another number of partitions
 */
export async function runQuery(settings: QuerySettings, parts: QueryParts): Promise<Query> {
  const { logger, serveMetrics } = parts.telemetry;
  const nowMs = parts.nowMs ?? Date.now;
  const monotonicMs = () => performance.now();
  const { promise: failed, resolve: fail } = Promise.withResolvers<Error>();
  const closing: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const close of closing.reverse()) await close();
  };
  try {
    const connections = await connect(settings, { logger, fail, closing });
    const { redis, postgres, makers } = connections;
    const ops = await serveOps({
      host: settings.HOST,
      port: settings.OPS_PORT,
      serveMetrics,
      ...reportHealth({
        makers,
        redis: settings.REDIS_URL === '' ? undefined : redis,
        postgres,
        monotonicMs,
      }),
    });
    closing.push(() => ops.stop());
    const api = await serveApi({
      routes: [
        createListRoute(settings, { redis, makers, rows: openReadModel(postgres), nowMs, monotonicMs }),
        createInfoRoute(settings, {
          readBlock: async () => (await unlessAway(projectedBlock(postgres, settings.PARTITIONS))) ?? null,
          nowMs,
        }),
        ...createDocumentRoutes(settings),
      ],
      host: settings.HOST,
      port: settings.PORT,
      concurrentRequestsMax: settings.CONCURRENT_REQUESTS_MAX,
      connectionsPerAddressMax: settings.CONNECTIONS_PER_ADDRESS_MAX,
      logger,
      nowMs,
      bodyBytesMax: settings.BODY_BYTES_MAX,
      headerBytesMax: settings.HEADER_BYTES_MAX,
      requestTimeoutMs: settings.REQUEST_TIMEOUT_MS,
      methodsAt,
      corsOrigins: settings.CORS_ORIGINS,
      trustedProxyHops: settings.TRUSTED_PROXY_HOPS,
      clientLimit: { units: settings.CLIENT_REQUESTS_MAX, windowSeconds: settings.CLIENT_WINDOW_SECONDS },
    });
    closing.push(() => api.stop(settings.DRAIN_MS));
    logger.info({ port: api.port, opsPort: ops.port, recovery: recoveryLibrary }, 'query listens');
    return { port: api.port, opsPort: ops.port, failed, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Connections {
  readonly redis: RedisConnection;
  readonly postgres: Postgres;
  readonly makers: Makers;
}

/** Resolves once the topics were asked for and Redis has had its time; `closing` gets the calls that close the connections. */
async function connect(
  settings: QuerySettings,
  parts: {
    readonly logger: Logger;
    readonly fail: (error: Error) => void;
    readonly closing: (() => Promise<void>)[];
  },
): Promise<Connections> {
  const { logger, fail, closing } = parts;
  const names = topicNames(settings.TOPIC_PREFIX);
  const log = connectLog({ ...kafkaConnection(settings), clientId: 'query', logger });
  closing.push(() => log.close());
  const topics = awaitTopics(log, {
    specs: topicSpecs(names, settings.PARTITIONS).filter(({ name }) => name === names.makers),
    logger,
    onFatal: fail,
  });
  closing.push(async () => topics.stop());
  await topics.firstTry;
  const redis = connectRedis({ ...redisConnection(settings), logger, clientName: 'query' });
  closing.push(() => redis.close());
  const postgres = connectPostgres({
    ...postgresConnection(settings),
    poolMax: settings.POSTGRES_POOL_MAX,
    statementTimeoutMs: STATEMENT_MS_MAX,
    looksUpOnly: true,
    applicationName: 'query',
    onConnectionLost: (error) => logger.warn({ reason: error.message }, 'a connection to Postgres was lost'),
  });
  closing.push(() => postgres.close());
  const makers = followMakers(log, names.makers, logger, fail);
  closing.push(() => makers.stop());
  await redis.waitUntilReady(REDIS_START_MS_MAX);
  return { redis, postgres, makers };
}

/** What the lists are read from, and the clocks. */
export interface ListRouteParts extends Pick<WriteWatchOptions, 'after'> {
  readonly redis: RedisConnection;
  readonly rows: Pick<ReadModel, 'readListState' | 'readMakerList'>;
  readonly makers: Makers;
  readonly nowMs: () => number;
  /** Milliseconds that never go back. */
  readonly monotonicMs: () => number;
}

/** The flow of a GET, on whatever it is connected to. */
export function createListRoute(settings: QuerySettings, parts: ListRouteParts): Route {
  const { redis, rows, makers, nowMs, monotonicMs, after } = parts;
  const metrics = createMetrics(makers);
  const held = holdLists();
  const readState = (maker: Hex) => unlessAway(rows.readListState(maker));
  const listParts = {
    held,
    watch: createWriteWatch({ readState, waitMsMax: settings.READ_WAIT_MS_MAX, ...(after && { after }) }),
    finder: createListFinder({ held, cache: createListCache(redis), rows, filled: metrics.filled }),
  };
  const budget = { ratePerSecond: settings.LIST_BUDGET_PER_SECOND, burst: settings.LIST_BUDGET_BURST };
  const replays = createReplayGuard(redis, {
    budget,
    // A request may be this old, or this far ahead of the clock; one second more for clocks that differ.
    windowMs: (settings.REQUEST_TTL_SECONDS + settings.CLOCK_SKEW_SECONDS + 1) * 1000,
    monotonicMs,
  });
  const listOrdersParts: ListOrdersParts = {
    rules: {
      hashers: createRequestHashers({
        serviceName: settings.SERVICE_NAME,
        chainId: settings.CHAIN_ID,
        verifyingContract: settings.LIMIT_ORDER_PROTOCOL_ADDRESS,
      }),
      requestTtlSeconds: settings.REQUEST_TTL_SECONDS,
      clockSkewSeconds: settings.CLOCK_SKEW_SECONDS,
      // A maker who was suspended or removed still sees what is open, and can cancel it.
      isKnown: (maker) => makers.admissionOf(maker) !== 'UNKNOWN',
    },
    isWhitelistKnown: makers.isCaughtUp,
    replays,
    budget,
    nowMs,
    metrics,
    readState,
    readList: (maker, state, asked) => readList(maker, state, asked, listParts),
  };
  return {
    method: 'GET',
    path: paths.limitOrders,
    takesJson: false,
    handle: (request) => listOrders(request, listOrdersParts),
  };
}
