import { type Hex, topicNames, topicSpecs } from '@makerbook/contracts-events';
import { createRequestHashers } from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import { type Route, type Running, serveApi, serveOps } from '@makerbook/http';
import { awaitTopics, connectLog, partitionOf } from '@makerbook/kafka';
import { connectPostgres } from '@makerbook/postgres';
import { connectRedis, createListCache, createReplayGuard } from '@makerbook/redis';
import { kafkaConnection } from '@makerbook/settings';
import { inSpan, SpanKind, type Telemetry } from '@makerbook/telemetry';
import { followMakers } from '@makerbook/whitelist';
import { createProjectionWatch } from './await-projection.js';
import { createListSources, createStoredPositions } from './connect-sources.js';
import type { QuerySettings } from './env.js';
import { listOrders } from './list-orders.js';
import { createNotes } from './note-metrics.js';
import { readList } from './read-list.js';
import { reportHealth } from './report-health.js';

/** The query service as it runs. */
export interface Query extends Running {
  /** Where the API listens. */
  readonly port: number;
  readonly opsPort: number;
  /** Settles when the service can do no more. */
  readonly failed: Promise<Error>;
}

/** What the process brings: its telemetry, and a clock that tests may set. */
export interface QueryParts {
  readonly telemetry: Pick<Telemetry, 'logger' | 'serveMetrics'>;
  readonly nowMs?: () => number;
}

const BODY_BYTES_MAX = 1024;
const HEADER_BYTES_MAX = 16 * 1024;
const REQUEST_TIMEOUT_MS = 10_000;
const DRAIN_MS = 10_000;
const REDIS_START_MS_MAX = 2_000;

/**
 * Starts the service that answers GET (Interface 4.2). Resolves when it listens; it is ready once it has read the
 * whitelist. Redis and Postgres may be away.
 * @throws TopicMismatch when a topic is missing or has other partitions than told
 */
export async function runQuery(settings: QuerySettings, parts: QueryParts): Promise<Query> {
  const { logger, serveMetrics } = parts.telemetry;
  const nowMs = parts.nowMs ?? Date.now;
  const monotonicMs = () => performance.now();
  const names = topicNames(settings.TOPIC_PREFIX);
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<Error>((resolve) => {
    fail = resolve;
  });

  const log = connectLog({ ...kafkaConnection(settings), clientId: 'query', logger });
  const closing: (() => Promise<void>)[] = [() => log.close()];
  const stopAll = async () => {
    for (const close of closing.reverse()) await close();
  };
  try {
    const specs = topicSpecs(names, settings.PARTITIONS);
    const topics = awaitTopics(log, {
      specs: specs.filter(({ name }) => name === names.makers || name === names.makerEvents),
      logger,
      onFatal: fail,
    });
    closing.push(async () => topics.stop());
    await topics.firstTry;
    const redis = connectRedis({
      url: settings.REDIS_URL,
      keyPrefix: settings.REDIS_KEY_PREFIX,
      logger,
      clientName: 'query',
    });
    closing.push(() => redis.close());
    const postgres = connectPostgres({
      url: settings.DATABASE_URL,
      poolMax: settings.POSTGRES_POOL_MAX,
      applicationName: 'query',
      onConnectionLost: (error) => logger.warn({ reason: error.message }, 'a connection to Postgres was lost'),
    });
    closing.push(() => postgres.close());
    const makers = followMakers(log, names.makers, logger, fail);
    closing.push(() => makers.stop());
    await redis.waitUntilReady(REDIS_START_MS_MAX);

    const notes = createNotes(makers);
    const cache = createListCache(redis);
    const watch = createProjectionWatch(createStoredPositions(cache, postgres));
    const sources = createListSources({
      log,
      topic: names.makerEvents,
      cache,
      postgres,
      watch,
      logger,
      notes,
      monotonicMs,
    });
    const replays = createReplayGuard(redis, {
      // A request may be this old, or this far ahead of the clock; one second more for clocks that differ.
      windowMs: (settings.REQUEST_TTL_SECONDS + settings.CLOCK_SKEW_SECONDS + 1) * 1000,
      monotonicMs,
    });
    const rules = {
      hashers: createRequestHashers({
        serviceName: settings.SERVICE_NAME,
        chainId: settings.CHAIN_ID,
        verifyingContract: settings.LIMIT_ORDER_PROTOCOL_ADDRESS,
      }),
      requestTtlSeconds: settings.REQUEST_TTL_SECONDS,
      clockSkewSeconds: settings.CLOCK_SKEW_SECONDS,
      isAdmitted: (maker: Hex) => makers.admissionOf(maker) === 'ADMITTED',
    };
    const route: Route = {
      method: 'GET',
      path: paths.limitOrders,
      takesJson: false,
      handle: (request) =>
        inSpan('list orders', { parent: request.traceparent, kind: SpanKind.SERVER }, () =>
          listOrders(request, {
            rules,
            isWhitelistKnown: makers.isCaughtUp,
            replays,
            nowMs,
            note: notes,
            readList: (maker, nowSeconds) =>
              readList(maker, partitionOf(maker, settings.PARTITIONS), sources, {
                nowSeconds,
                waitMsMax: settings.READ_WAIT_MS_MAX,
              }),
          }),
        ),
    };
    const ops = await serveOps({
      host: settings.HOST,
      port: settings.OPS_PORT,
      serveMetrics,
      ...reportHealth({ makers, redis, postgres, nowMs }),
    });
    closing.push(() => ops.stop());
    const api = await serveApi({
      routes: [route],
      host: settings.HOST,
      port: settings.PORT,
      connectionsPerAddressMax: settings.CONNECTIONS_PER_ADDRESS_MAX,
      logger,
      nowMs,
      bodyBytesMax: BODY_BYTES_MAX,
      headerBytesMax: HEADER_BYTES_MAX,
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      trustedProxyHops: settings.TRUSTED_PROXY_HOPS,
      clientLimit: { units: settings.CLIENT_REQUESTS_MAX, windowSeconds: settings.CLIENT_WINDOW_SECONDS },
    });
    closing.push(() => api.stop(DRAIN_MS));
    logger.info({ port: api.port, opsPort: ops.port }, 'query listens');
    return { port: api.port, opsPort: ops.port, failed, stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}
