import { setTimeout as delay } from 'node:timers/promises';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { methodsAt, paths } from '@makerbook/contracts-http';
import { type Route, type Running, serveApi, serveOps } from '@makerbook/http';
import { awaitTopics, connectLog, type Log, type VerifiedTopics } from '@makerbook/kafka';
import {
  type After,
  connectPostgres,
  openPlacementStore,
  openReadModel,
  type PlacementStore,
  type Postgres,
  type ReadModel,
  startTimer,
} from '@makerbook/postgres';
import { kafkaConnection, postgresConnection } from '@makerbook/settings';
import { recoveryLibrary } from '@makerbook/signatures';
import type { Logger, Telemetry } from '@makerbook/telemetry';
import { followMakers, type Makers } from '@makerbook/whitelist';
import { watchRows } from './await-rows.js';
import { createCancelOrders } from './cancel-orders.js';
import type { IngressSettings } from './env.js';
import { createFairQueue } from './fair-queue.js';
import { reportHealth } from './health.js';
import { keepTrust, type TrustKeeper } from './keep-trust.js';
import { loadQuoteSigner, type QuoteSigner } from './load-quote-signer.js';
import { createMetrics } from './metrics.js';
import { countUnknownNotes } from './note-unknown.js';
import { parseCancellationBody, parseCancellationQuery } from './parse-cancellations.js';
import { createPlaceOrders, REQUEST_AGE_MS_MAX } from './place-orders.js';
import { unavailable } from './refusal.js';
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

/** `runIngress` waits this long for the log, and resolves with or without it. */
const START_MS_MAX = 2_000;
/** After its time-out nothing more of an append is sent; what was sent last may still be on its way to the broker. */
const APPEND_SPARE_MS = 1_000;
/** The clock of the rows is the brokers', and may be ahead of the one here. */
const CLOCK_SPARE_MS = 2_000;
/** How often the rows are compared with what was appended. */
const LAG_INTERVAL_MS = 1_000;
/** A note that a hash is unknown counts for longer than a request that was received before it may take. */
const NOTE_MS = REQUEST_AGE_MS_MAX + 5_000;

/**
 * Starts the service that answers POST, DELETE and PATCH. It listens at once, and is ready once it has read the whitelist.
 * Kafka and Postgres may be away: PATCH needs neither, and POST answers 503 until they are back.
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
    const { log, topics, postgres, makers, makerEventsTopic } = connections;
    const rows = openReadModel(postgres);
    const store = openPlacementStore(postgres);
    const lag = watchProjectionLag({ rows, intervalMs: LAG_INTERVAL_MS, monotonicMs: () => performance.now() });
    closing.push(async () => lag.stop());
    const trust = keepTrust({
      store,
      log,
      rows,
      makerEventsTopic,
      appendMsMax: appendMsMaxOf(settings),
      logger,
      now,
      after: startTimer,
    });
    closing.push(async () => trust.stop());
    const routes = createRoutes(
      settings,
      { ...connections, rows, store },
      { lag, trust, quoteSigner, logger, now, after: startTimer },
    );
    const ops = await serveOps({
      host: settings.HOST,
      port: settings.OPS_PORT,
      serveMetrics,
      ...reportHealth({
        makers,
        postgres,
        trust,
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
    await withinMs(topics.firstTry, START_MS_MAX);
    return { port: api.port, opsPort: ops.port, failed, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Connections {
  readonly log: Log;
  readonly topics: VerifiedTopics;
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
  const postgres = connectPostgres({
    ...postgresConnection(settings),
    applicationName: 'ingress',
    looksUpOnly: true,
    poolMax: settings.POSTGRES_CONNECTIONS_MAX,
    statementTimeoutMs: settings.POSTGRES_TIMEOUT_MS,
    onConnectionLost: (error) => logger.warn({ reason: error.message }, 'a connection to Postgres was lost'),
  });
  closing.push(() => postgres.close());
  const makers = followMakers(log, names.makers, logger, fail);
  closing.push(() => makers.stop());
  return { log, topics, postgres, makers, makerEventsTopic: names.makerEvents };
}

/** What the routes use of the outside. */
export interface RouteConnections extends Pick<Connections, 'makers' | 'makerEventsTopic'> {
  readonly log: Pick<Log, 'createAppender'>;
  readonly topics: Pick<VerifiedTopics, 'areVerified'>;
  readonly rows: Pick<ReadModel, 'projectedPositions'>;
  readonly store: PlacementStore;
}

export interface RouteParts {
  readonly lag: ProjectionLag;
  readonly trust: TrustKeeper;
  readonly quoteSigner: QuoteSigner;
  readonly logger: Logger;
  readonly now: () => number;
  readonly after: After;
}

/** The longest time from a decision of Postgres to the end of the append that follows. */
export function appendMsMaxOf(settings: IngressSettings): number {
  return settings.POSTGRES_TIMEOUT_MS + settings.APPEND_TIMEOUT_MS + APPEND_SPARE_MS;
}

/** The flow of each request, on whatever it is connected to. */
export function createRoutes(
  settings: IngressSettings,
  { log, topics, rows, store, makers, makerEventsTopic }: RouteConnections,
  { lag, trust, quoteSigner, logger, now, after }: RouteParts,
): Route[] {
  const appender = log.createAppender({ lingerMs: settings.APPEND_LINGER_MS, timeoutMs: settings.APPEND_TIMEOUT_MS });
  const domain = {
    serviceName: settings.SERVICE_NAME,
    chainId: settings.CHAIN_ID,
    verifyingContract: settings.LIMIT_ORDER_PROTOCOL_ADDRESS,
  };
  const metrics = createMetrics();
  metrics.observe(lag, makers);
  const common = {
    appender,
    makerEventsTopic,
    partitions: settings.PARTITIONS,
    lag,
    store,
    trust,
    makers,
    fairQueue: createFairQueue(),
    logger,
    metrics,
    settledMs: appendMsMaxOf(settings) + CLOCK_SPARE_MS,
    now,
  };
  const placeOrders = createPlaceOrders({
    ...common,
    lagSecondsMax: settings.PROJECTION_LAG_SECONDS_MAX,
    verify: createOrderVerifier(domain),
    ordersPerPostMax: settings.MAX_ORDERS_PER_POST,
    openOrdersPerMakerMax: settings.MAX_OPEN_ORDERS_PER_MAKER,
    rememberedPerMakerMax: settings.REMEMBERED_HASHES_PER_MAKER_MAX,
    budget: { ratePerSecond: settings.ORDER_BUDGET_PER_SECOND, burst: settings.ORDER_BUDGET_BURST },
    waitMs: settings.PLACE_WAIT_MS,
    decideMsMax: settings.POSTGRES_TIMEOUT_MS,
    after,
  });
  const cancelParts = {
    ...common,
    notes: countUnknownNotes({
      perClientMax: settings.UNKNOWN_HASHES_PER_CLIENT_MAX,
      totalMax: settings.UNKNOWN_HASHES_MAX,
      windowMs: NOTE_MS,
      now,
      onOlder: (beforeMs) => void store.forgetNotes(beforeMs).catch(() => undefined),
    }),
    verifier: createCancellationVerifier(domain),
    rows: watchRows({ rows, now, after }),
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
