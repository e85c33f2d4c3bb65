import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { methodsAt, paths } from '@makerbook/contracts-http';
import { type Route, type Running, serveApi, serveOps } from '@makerbook/http';
import { awaitTopics, connectLog, type Log, type VerifiedTopics } from '@makerbook/kafka';
import { type After, connectPostgres, openReadModel, type Postgres, type ReadModel } from '@makerbook/postgres';
import { connectRedis, type RedisConnection } from '@makerbook/redis';
import { kafkaConnection, postgresConnection, redisConnection } from '@makerbook/settings';
import { recoveryLibrary } from '@makerbook/signatures';
import type { Logger, Telemetry } from '@makerbook/telemetry';
import { followMakers, type Makers } from '@makerbook/whitelist';
import { createProjection } from './await-projection.js';
import { createCancelOrders } from './cancel-orders.js';
import type { IngressSettings } from './env.js';
import { createFairQueue } from './fair-queue.js';
import { reportHealth } from './health.js';
import { loadQuoteSigner, type QuoteSigner } from './load-quote-signer.js';
import { createLookUp } from './look-up-orders.js';
import { createMetrics } from './metrics.js';
import { parseCancellationBody, parseCancellationQuery } from './parse-cancellations.js';
import { createPlaceOrders } from './place-orders.js';
import { unavailable } from './refusal.js';
import { createReserver } from './reserve.js';
import { servePatches } from './serve-patches.js';
import { createCancellationVerifier } from './verify-cancellations.js';
import { createOrderVerifier } from './verify-orders.js';
import { type ProjectionLag, watchProjectionLag } from './watch-projection-lag.js';

/** The ingress service as it runs. */
export interface Ingress extends Running {
  /** Where the API listens. */
  readonly port: number;
  readonly opsPort: number;
  /** Settles with the error after which the service cannot go on. */
  readonly failed: Promise<Error>;
}

/** What the process provides: its telemetry, and a clock that tests may set. */
export interface IngressParts {
  readonly telemetry: Pick<Telemetry, 'logger' | 'serveMetrics'>;
  readonly nowMs?: () => number;
}

/** `runIngress` waits this long for the log and Redis, and resolves with or without them. */
const START_MS_MAX = 2_000;
/** After its time-out nothing more of an append is sent; what was sent last may still be on its way to the broker. */
const APPEND_SPARE_MS = 1_000;
/** How often the read model is compared with the log. */
const LAG_INTERVAL_MS = 1_000;
/** A reservation outlives its append by so much: other requests may resolve it only after that. */
const LEASE_SPARE_MS = 10_000;

/**
 * Starts the service that answers POST, DELETE and PATCH (Interface 4.1, 4.3, 4.4). It listens at once, and is ready
 * once it has read the whitelist. Kafka, Redis and Postgres may be away: PATCH needs none of them, and POST and DELETE
 * answer 503 until they are back.
 * @throws TopicMismatch when a topic is missing or has another number of partitions (found later: `failed` settles),
 * SettingsError when the quote signer cannot be used
 */
export async function runIngress(settings: IngressSettings, parts: IngressParts): Promise<Ingress> {
  const { logger, serveMetrics } = parts.telemetry;
  const now = parts.nowMs ?? Date.now;
  const { promise: failed, resolve: fail } = Promise.withResolvers<Error>();
  const closing: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const close of closing.reverse()) await close();
  };
  try {
    const quoteSigner = loadQuoteSigner(settings);
    const connections = connect(settings, { logger, fail, closing });
    const { log, topics, redis, postgres, makers, makerEventsTopic } = connections;
    const lag = watchProjectionLag({
      log,
      postgres,
      makerEventsTopic,
      intervalMs: LAG_INTERVAL_MS,
      monotonicMs: () => performance.now(),
    });
    closing.push(async () => lag.stop());
    const rows = openReadModel(postgres);
    const after: After = (ms, work) => {
      const timer = setTimeout(work, ms);
      return () => clearTimeout(timer);
    };
    const routes = createRoutes(settings, { ...connections, rows }, { lag, quoteSigner, logger, now, after });
    const ops = await serveOps({
      host: settings.HOST,
      port: settings.OPS_PORT,
      serveMetrics,
      ...reportHealth({
        makers,
        redis,
        postgres,
        lag,
        lagSecondsMax: settings.PROJECTION_LAG_SECONDS_MAX,
        monotonicMs: () => performance.now(),
      }),
    });
    closing.push(() => ops.stop());
    const api = await serveApi({
      routes,
      host: settings.HOST,
      port: settings.PORT,
      concurrentRequestsMax: settings.CONCURRENT_REQUESTS_MAX,
      connectionsPerAddressMax: settings.CONNECTIONS_PER_ADDRESS_MAX,
      logger,
      nowMs: now,
      bodyBytesMax: settings.BODY_BYTES_MAX,
      headerBytesMax: settings.HEADER_BYTES_MAX,
      requestTimeoutMs: settings.REQUEST_TIMEOUT_MS,
      methodsAt,
      corsOrigins: settings.CORS_ORIGINS,
      trustedProxyHops: settings.TRUSTED_PROXY_HOPS,
      clientLimit: { units: settings.CLIENT_REQUESTS_MAX, windowSeconds: settings.CLIENT_WINDOW_SECONDS },
    });
    closing.push(() => api.stop(settings.DRAIN_MS));
    logger.info({ port: api.port, opsPort: ops.port, recovery: recoveryLibrary }, 'ingress listens');
    await Promise.all([redis.waitUntilReady(START_MS_MAX), withinMs(topics.firstTry, START_MS_MAX)]);
    return { port: api.port, opsPort: ops.port, failed, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Connections {
  readonly log: Log;
  readonly topics: VerifiedTopics;
  readonly redis: RedisConnection;
  readonly postgres: Postgres;
  readonly makers: Makers;
  readonly makerEventsTopic: string;
}

/** Connects without waiting; `closing` gets the calls that close the connections. */
function connect(
  settings: IngressSettings,
  parts: {
    readonly logger: Logger;
    readonly fail: (error: Error) => void;
    readonly closing: (() => Promise<void>)[];
  },
): Connections {
  const { logger, fail, closing } = parts;
  const names = topicNames(settings.TOPIC_PREFIX);
  const log = connectLog({ ...kafkaConnection(settings), clientId: 'ingress', logger });
  closing.push(() => log.close());
  const topics = awaitTopics(log, {
    specs: topicSpecs(names, settings.PARTITIONS).filter(
      ({ name }) => name === names.makers || name === names.makerEvents,
    ),
    logger,
    onFatal: fail,
  });
  closing.push(async () => topics.stop());
  const redis = connectRedis({
    ...redisConnection(settings),
    logger,
    clientName: 'ingress',
    commandTimeoutMs: settings.REDIS_TIMEOUT_MS,
  });
  closing.push(() => redis.close());
  const postgres = connectPostgres({
    ...postgresConnection(settings),
    applicationName: 'ingress',
    onConnectionLost: (error) => logger.warn({ reason: error.message }, 'a connection to Postgres was lost'),
  });
  closing.push(() => postgres.close());
  const makers = followMakers(log, names.makers, logger, fail);
  closing.push(() => makers.stop());
  return { log, topics, redis, postgres, makers, makerEventsTopic: names.makerEvents };
}

/** What the routes use of the outside. */
export interface RouteConnections extends Pick<Connections, 'redis' | 'makers' | 'makerEventsTopic'> {
  readonly log: Pick<Log, 'createAppender' | 'endOffsets'>;
  readonly topics: Pick<VerifiedTopics, 'areVerified'>;
  readonly rows: ReadModel;
}

export interface RouteParts {
  readonly lag: ProjectionLag;
  readonly quoteSigner: QuoteSigner;
  readonly logger: Logger;
  readonly now: () => number;
  readonly after: After;
}

/** The flow of each request, on whatever it is connected to. */
export function createRoutes(
  settings: IngressSettings,
  { log, topics, redis, rows, makers, makerEventsTopic }: RouteConnections,
  { lag, quoteSigner, logger, now, after }: RouteParts,
): Route[] {
  const appender = log.createAppender({ lingerMs: settings.APPEND_LINGER_MS, timeoutMs: settings.APPEND_TIMEOUT_MS });
  const domain = {
    serviceName: settings.SERVICE_NAME,
    chainId: settings.CHAIN_ID,
    verifyingContract: settings.LIMIT_ORDER_PROTOCOL_ADDRESS,
  };
  const projection = createProjection({ log, rows, makerEventsTopic, waitMs: settings.PROJECTION_WAIT_MS, after });
  const nextId = createIds();
  const metrics = createMetrics();
  metrics.observe(lag, makers);
  const append = { appender, makerEventsTopic, partitions: settings.PARTITIONS };
  const common = { ...append, fairQueue: createFairQueue(), redis, logger, metrics, now };
  const leaseMs = settings.APPEND_TIMEOUT_MS + LEASE_SPARE_MS;
  const placeOrders = createPlaceOrders({
    ...common,
    makers,
    lag,
    lagSecondsMax: settings.PROJECTION_LAG_SECONDS_MAX,
    verify: createOrderVerifier(domain),
    reserver: createReserver({
      redis,
      rows,
      projection,
      logger,
      waitMs: settings.COLD_WAIT_MS,
      leaseMs,
      now,
      after,
      nextId,
    }),
    ordersPerPostMax: settings.MAX_ORDERS_PER_POST,
    openOrdersPerMakerMax: settings.MAX_OPEN_ORDERS_PER_MAKER,
    budget: { ratePerSecond: settings.ORDER_BUDGET_PER_SECOND, burst: settings.ORDER_BUDGET_BURST },
    nextId,
  });
  const appendMsMax = settings.REDIS_TIMEOUT_MS + settings.APPEND_TIMEOUT_MS + APPEND_SPARE_MS;
  const cancelParts = {
    ...common,
    lookUp: createLookUp({ redis, rows, projection, appendMsMax, now }),
    verify: createCancellationVerifier(domain),
    projection,
    cancelsPerDeleteMax: settings.MAX_CANCELS_PER_DELETE,
    waitSecondsMax: settings.CANCEL_WAIT_SECONDS_MAX,
    budget: { ratePerSecond: settings.CANCEL_BUDGET_PER_SECOND, burst: settings.CANCEL_BUDGET_BURST },
  };
  const windowSeconds = settings.CLIENT_WINDOW_SECONDS;
  // Cancelling has a limit of its own: a maker who has spent the one of POST can still cancel.
  const cancelLimit = { name: 'client-cancels', units: settings.CANCEL_REQUESTS_MAX, windowSeconds };
  const patchLimit = { units: settings.PATCH_REQUESTS_MAX, windowSeconds };
  const path = paths.limitOrders;
  return [
    { method: 'POST', path, takesJson: true, handle: onceTopicsAreVerified(topics, placeOrders) },
    {
      method: 'DELETE',
      path,
      takesJson: false,
      clientLimit: cancelLimit,
      handle: onceTopicsAreVerified(topics, createCancelOrders(cancelParts, parseCancellationQuery)),
    },
    {
      method: 'POST',
      path: paths.cancellations,
      takesJson: true,
      clientLimit: cancelLimit,
      handle: onceTopicsAreVerified(topics, createCancelOrders(cancelParts, parseCancellationBody)),
    },
    servePatches({ signer: quoteSigner, clientLimit: patchLimit, logger, metrics, now }),
  ];
}

/** Names that are unique among all instances. */
function createIds(): () => string {
  const instance = randomUUID();
  let ids = 0;
  return () => {
    ids += 1;
    return `${instance}:${ids}`;
  };
}

/** Nothing is written to a log whose topics were not checked. */
function onceTopicsAreVerified(topics: Pick<VerifiedTopics, 'areVerified'>, handle: Route['handle']): Route['handle'] {
  return async (request) => (topics.areVerified() ? handle(request) : unavailable('the log was not reached yet'));
}

/** Waits for the work, at most `ms`; rejects as the work does. The work goes on after the time. */
async function withinMs(work: Promise<void>, ms: number): Promise<void> {
  const over = new AbortController();
  await Promise.race([work, delay(ms, undefined, { signal: over.signal }).catch(() => undefined)]).finally(() =>
    over.abort(),
  );
}
