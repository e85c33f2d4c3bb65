import { randomUUID } from 'node:crypto';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { paths } from '@makerbook/contracts-http';
import { type Route, type Running, serveApi, serveOps } from '@makerbook/http';
import { awaitTopics, connectLog, type VerifiedTopics } from '@makerbook/kafka';
import { connectPostgres } from '@makerbook/postgres';
import { connectRedis } from '@makerbook/redis';
import { kafkaConnection } from '@makerbook/settings';
import type { Telemetry } from '@makerbook/telemetry';
import { followMakers } from '@makerbook/whitelist';
import { createProjection } from './await-projection.js';
import { createCancelOrders } from './cancel-orders.js';
import type { IngressSettings } from './env.js';
import { loadQuoteSigner } from './load-quote-signer.js';
import { createLookUp } from './look-up-orders.js';
import { createMeasures } from './measure.js';
import { createPlaceOrders } from './place-orders.js';
import { unavailable } from './refusal.js';
import { reportHealth } from './report-health.js';
import { createReserver } from './reserve.js';
import { servePatches } from './serve-patches.js';
import { createTurns } from './take-turns.js';
import { createCancellationVerifier } from './verify-cancellations.js';
import { createOrderVerifier } from './verify-orders.js';

/** The ingress service as it runs. */
export interface Ingress extends Running {
  /** Where the API listens. */
  readonly port: number;
  readonly opsPort: number;
  /** Settles when the service can do no more. */
  readonly failed: Promise<Error>;
}

/** What the process brings: its telemetry, and a clock that tests may set. */
export interface IngressParts {
  readonly telemetry: Pick<Telemetry, 'logger' | 'serveMetrics'>;
  readonly nowMs?: () => number;
}

/** The service listens at once; whoever starts it is told so at the latest then, with or without log and Redis. */
const START_MS_MAX = 2_000;
/** After its time-out nothing more of an append is sent; what was sent last may still be on its way to the broker. */
const APPEND_SPARE_MS = 1_000;
/** An append has been answered or refused long before others may ask what became of it. */
const LEASE_SPARE_MS = 10_000;

/**
 * Starts the service that answers POST, DELETE and PATCH (Interface 4.1, 4.3, 4.4). It listens at once, and is ready
 * once it has read the whitelist. Kafka, Redis and Postgres may be away: PATCH needs none of them, and POST and DELETE
 * answer 503 until they are there.
 * @throws TopicMismatch when a topic is missing or has other partitions than told (seen later, `failed` says it),
 * SettingsError when the quote signer cannot be used
 */
export async function runIngress(settings: IngressSettings, parts: IngressParts): Promise<Ingress> {
  const { logger, serveMetrics } = parts.telemetry;
  const now = parts.nowMs ?? Date.now;
  const names = topicNames(settings.TOPIC_PREFIX);
  const instance = randomUUID();
  let ids = 0;
  const nextId = () => {
    ids += 1;
    return `${instance}:${ids}`;
  };
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<Error>((resolve) => {
    fail = resolve;
  });

  const log = connectLog({ ...kafkaConnection(settings), clientId: 'ingress', logger });
  const closing: (() => Promise<void>)[] = [() => log.close()];
  const stopAll = async () => {
    for (const close of closing.reverse()) await close();
  };
  try {
    const quoteSigner = loadQuoteSigner(settings);
    const topics = awaitTopics(log, {
      specs: topicSpecs(names, settings.PARTITIONS).filter(
        ({ name }) => name === names.makers || name === names.makerEvents,
      ),
      logger,
      onFatal: fail,
    });
    closing.push(async () => topics.stop());
    const redis = connectRedis({
      url: settings.REDIS_URL,
      keyPrefix: settings.REDIS_KEY_PREFIX,
      logger,
      clientName: 'ingress',
      commandTimeoutMs: settings.REDIS_TIMEOUT_MS,
    });
    closing.push(() => redis.close());
    const postgres = connectPostgres({
      url: settings.DATABASE_URL,
      applicationName: 'ingress',
      onConnectionLost: (error) => logger.warn({ reason: error.message }, 'a connection to Postgres was lost'),
    });
    closing.push(() => postgres.close());
    const makers = followMakers(log, names.makers, logger, fail);
    closing.push(() => makers.stop());
    const appender = log.createAppender({
      lingerMs: settings.APPEND_LINGER_MS,
      timeoutMs: settings.APPEND_TIMEOUT_MS,
    });
    const domain = {
      serviceName: settings.SERVICE_NAME,
      chainId: settings.CHAIN_ID,
      verifyingContract: settings.LIMIT_ORDER_PROTOCOL_ADDRESS,
    };
    const append = { appender, makerEventsTopic: names.makerEvents, partitions: settings.PARTITIONS };
    const projection = createProjection({
      log,
      postgres,
      makerEventsTopic: names.makerEvents,
      waitMs: settings.PROJECTION_WAIT_MS,
      now,
    });
    const reserver = createReserver({
      redis,
      postgres,
      projection,
      logger,
      waitMs: settings.COLD_WAIT_MS,
      leaseMs: settings.APPEND_TIMEOUT_MS + LEASE_SPARE_MS,
      now,
      nextId,
    });
    const measures = createMeasures();
    const turns = createTurns();
    const routes: Route[] = [
      {
        method: 'POST',
        path: paths.limitOrders,
        takesJson: true,
        handle: onceTopicsAreThere(
          topics,
          createPlaceOrders({
            ...append,
            makers,
            verify: createOrderVerifier(domain),
            turns,
            reserver,
            redis,
            logger,
            measures,
            ordersPerPostMax: settings.MAX_ORDERS_PER_POST,
            openOrdersPerMakerMax: settings.MAX_OPEN_ORDERS_PER_MAKER,
            budget: { ratePerSecond: settings.ORDER_BUDGET_PER_SECOND, burst: settings.ORDER_BUDGET_BURST },
            now,
            nextId,
          }),
        ),
      },
      {
        method: 'DELETE',
        path: paths.limitOrders,
        takesJson: false,
        // Of its own, so that a maker who has spent the other one can still get out.
        clientLimit: {
          name: 'cancels',
          units: settings.CANCEL_REQUESTS_MAX,
          windowSeconds: settings.CLIENT_WINDOW_SECONDS,
        },
        handle: onceTopicsAreThere(
          topics,
          createCancelOrders({
            ...append,
            lookUp: createLookUp({
              redis,
              postgres,
              projection,
              appendMsMax: settings.REDIS_TIMEOUT_MS + settings.APPEND_TIMEOUT_MS + APPEND_SPARE_MS,
              now,
            }),
            verify: createCancellationVerifier(domain),
            turns,
            redis,
            logger,
            measures,
            cancelsPerDeleteMax: settings.MAX_CANCELS_PER_DELETE,
            budget: { ratePerSecond: settings.CANCEL_BUDGET_PER_SECOND, burst: settings.CANCEL_BUDGET_BURST },
            now,
          }),
        ),
      },
      servePatches({
        signer: quoteSigner,
        clientLimit: { units: settings.PATCH_REQUESTS_MAX, windowSeconds: settings.CLIENT_WINDOW_SECONDS },
        logger,
        measures,
        now,
      }),
    ];
    const ops = await serveOps({
      host: settings.HOST,
      port: settings.OPS_PORT,
      serveMetrics,
      ...reportHealth({ makers, redis, postgres, nowMs: now }),
    });
    closing.push(() => ops.stop());
    const api = await serveApi({
      routes,
      host: settings.HOST,
      port: settings.PORT,
      connectionsPerAddressMax: settings.CONNECTIONS_PER_ADDRESS_MAX,
      logger,
      nowMs: now,
      bodyBytesMax: settings.BODY_BYTES_MAX,
      headerBytesMax: settings.HEADER_BYTES_MAX,
      requestTimeoutMs: settings.REQUEST_TIMEOUT_MS,
      trustedProxyHops: settings.TRUSTED_PROXY_HOPS,
      clientLimit: { units: settings.CLIENT_REQUESTS_MAX, windowSeconds: settings.CLIENT_WINDOW_SECONDS },
    });
    closing.push(() => api.stop(settings.DRAIN_MS));
    logger.info({ port: api.port, opsPort: ops.port }, 'ingress listens');
    await Promise.all([redis.waitUntilReady(START_MS_MAX), withinMs(topics.firstTry, START_MS_MAX)]);
    return { port: api.port, opsPort: ops.port, failed, stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** Before the log has shown its topics nothing is written to it. */
function onceTopicsAreThere(topics: VerifiedTopics, handle: Route['handle']): Route['handle'] {
  return async (request) => (topics.areVerified() ? handle(request) : unavailable('the log was not reached yet'));
}

/** Waits for what may take long; fails as it does, and lets it go on after the time. */
async function withinMs(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, over]);
  clearTimeout(timer);
}
