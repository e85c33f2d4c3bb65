import { setTimeout as wait } from 'node:timers/promises';
import { openCode, openWallets } from '@makerbook/chain';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { createOrderHasher, createRequestHashers } from '@makerbook/contracts-evm';
import { cancelHeaders, methodsAt, paths } from '@makerbook/contracts-http';
import { monotonicMs } from '@makerbook/contracts-primitives';
import {
  type ApiRequest,
  isRefusal,
  parseAs,
  type Reply,
  type Route,
  serveApi,
  serveOps,
  startService,
  unavailable,
} from '@makerbook/http';
import { awaitTopics, connectLog } from '@makerbook/kafka';
import { connectPostgres, readPartitionClocks } from '@makerbook/postgres';
import { kafkaConnection, postgresConnection, signingDomain, walletConnection } from '@makerbook/settings';
import { recoveryLibrary } from '@makerbook/signatures';
import type { Telemetry } from '@makerbook/telemetry';
import { followMakers } from '@makerbook/whitelist';
import { followAcks } from './acknowledge/follow-acks.js';
import { followProjection } from './acknowledge/follow-projection.js';
import { createReceiptSigner } from './acknowledge/sign-receipts.js';
import { cancelBy, cancelByBody } from './cancel-orders.js';
import { boundUnplaced } from './decide/bound-unplaced.js';
import { decideTogether } from './decide/decide-together.js';
import { findTogether } from './decide/find-hashes.js';
import { keepTrust } from './decide/keep-trust.js';
import { countUnknownNotes } from './decide/note-unknown.js';
import type { IngressSettings } from './env.js';
import { judgeReadiness } from './health.js';
import { createMetrics, type Endpoint } from './metrics.js';
import { parseCancellationQuery } from './parse/parse-cancellations.js';
import { createExitReaders } from './parse/read-exits.js';
import { createSaltReader } from './parse/read-salts.js';
import type { Outside, Parts } from './parts.js';
import { createPatch } from './patch/serve-patches.js';
import { place } from './place-orders.js';
import { replace } from './replace-orders.js';
import { openStore } from './store/open-store.js';
import { takeExit } from './take-exits.js';
import { createSlices } from './verify/yield-slices.js';

/** The running ingress service. The API listens on `port`. */
export type Ingress = Awaited<ReturnType<typeof runIngress>>;

/** `runIngress` waits this long for the log, and resolves with or without it. */
const START_MS_MAX = 2_000;

/**
 * Starts the service that answers POST, DELETE and PATCH. It listens at once, and is ready once it has read the
 * whitelist. Kafka and Postgres may be down: PATCH needs neither, and POST answers 503 until they are back.
 * @throws TopicMismatch when a topic is missing or has another number of partitions (found later: `failed` settles)
 */
export function runIngress(
  settings: IngressSettings,
  { logger, serveMetrics }: Pick<Telemetry, 'logger' | 'serveMetrics'>,
) {
  return startService(async ({ onStop, fail }) => {
    const names = topicNames(settings.TOPIC_PREFIX);
    const log = connectLog({ ...kafkaConnection(settings), clientId: 'ingress', logger });
    onStop(log.close);
    const specs = topicSpecs(names, settings.PARTITIONS);
    const { ROUTERS: routers, PARTITIONS: partitions } = settings;
    const used = [names.makers, names.makerEvents, ...(routers.length > 0 ? [names.acks] : [])];
    const topics = awaitTopics(log, {
      specs: specs.filter(({ name }) => used.includes(name)),
      logger,
      onFatal: fail,
    });
    onStop(topics.stop);
    const postgres = connectPostgres({
      ...postgresConnection(settings),
      applicationName: 'ingress',
      looksUpOnly: true,
      poolMax: settings.POSTGRES_CONNECTIONS_MAX,
      statementTimeoutMs: settings.POSTGRES_TIMEOUT_MS,
      onConnectionLost: (error) =>
        logger.warn({ reason: error.message }, 'Postgres is down, or a connection to it was lost'),
    });
    onStop(postgres.close);
    const makers = followMakers(log, names.makers, logger, fail);
    onStop(makers.stop);
    const projection = followProjection(() => readPartitionClocks(postgres), { monotonicMs, pause: wait });
    onStop(projection.stop);
    const store = openStore(postgres);
    const node = { ...walletConnection(settings), monotonicMs };
    const wallets = openWallets({
      ...node,
      onAway: (reason) => logger.warn({ reason }, 'contract wallets could not be asked'),
    });
    onStop(async () => wallets?.close());
    const code = openCode({ ...node, onAway: (reason) => logger.warn({ reason }, 'a token could not be looked up') });
    onStop(async () => code?.close());
    const [askWallets, askCode] = [wallets?.ask, code?.ask];
    const clock = { now: Date.now, monotonicMs, pause: wait };
    const following = { topic: names.acks, partitions, routers, logger, onFatal: fail, ...clock };
    const acks = routers.length > 0 ? followAcks(log, following) : undefined;
    onStop(async () => acks?.stop());
    const outside = { settings, logger, log, topics, makers, store, projection, acks, askWallets, askCode, ...clock };
    const trust = keepTrust(outside);
    onStop(trust.stop);
    const lagSecondsMax = settings.PROJECTION_LAG_SECONDS_MAX;
    const ops = await serveOps(settings, {
      ready: () => judgeReadiness({ topics, makers, postgres, trust, projection, lagSecondsMax }),
      serveMetrics,
    });
    onStop(ops.stop);
    const routes = createRoutes({ ...outside, trust });
    const api = await serveApi(settings, { routes, methodsAt, logger });
    onStop(api.stop);
    logger.info({ port: api.port, opsPort: ops.port, recovery: recoveryLibrary }, 'ingress listens');
    await Promise.race([topics.firstTry, wait(START_MS_MAX, undefined, { ref: false })]);
    return { port: api.port, opsPort: ops.port };
  });
}

/** Creates the routes of all requests on the given connections. */
export function createRoutes(outside: Outside): Route[] {
  const { settings, log, topics, store, monotonicMs } = outside;
  const { APPEND_LINGER_MS: lingerMs, APPEND_TIMEOUT_MS: timeoutMs } = settings;
  const domain = signingDomain(settings);
  const parts: Parts = {
    ...outside,
    metrics: createMetrics(outside),
    appender: log.createAppender({ lingerMs, timeoutMs, isCompressed: true }),
    decide: decideTogether(store, monotonicMs),
    findHashes: findTogether(store),
    nextSlice: createSlices(),
    notes: countUnknownNotes(outside),
    unplaced: boundUnplaced(outside),
    waits: { underWay: 0 },
    hashOrder: createOrderHasher(domain).hashOrder,
    hashCancellation: createRequestHashers(domain).hashCancellation,
    readSalts: createSaltReader(domain),
    signReceipt: createReceiptSigner(settings),
  };
  // Cancelling has its own limit: a maker who has spent the limit of POST can still cancel.
  const cancelLimit = { name: 'client-cancels', units: settings.CANCEL_REQUESTS_MAX };
  const counted =
    (endpoint: Endpoint, handle: Route['handle']): Route['handle'] =>
    async (request) => {
      const reply = await handle(request);
      if (isRefusal(reply)) parts.metrics.refused(endpoint, reply.measuredAs ?? reply.code);
      return reply;
    };
  // Nothing is written to a log whose topics were not checked.
  const writing = (endpoint: Endpoint, answer: (parts: Parts, request: ApiRequest) => Promise<Reply>) =>
    counted(endpoint, async (request) => {
      const preferred = parseAs(cancelHeaders, { Prefer: request.headers['prefer'] });
      if (isRefusal(preferred)) return preferred;
      return topics.areVerified()
        ? answer(parts, request)
        : unavailable('the topics of the log are not checked yet; try again');
    });
  const path = paths.limitOrders;
  return [
    { method: 'POST', path, takesJson: true, handle: writing('place', place) },
    { method: 'DELETE', path, clientLimit: cancelLimit, handle: writing('cancel', cancelBy(parseCancellationQuery)) },
    {
      method: 'POST',
      path: paths.cancellations,
      takesJson: true,
      clientLimit: cancelLimit,
      handle: writing('cancel', cancelByBody),
    },
    { method: 'POST', path: paths.replacements, takesJson: true, handle: writing('replace', replace) },
    ...[...createExitReaders(domain, settings.CLOCK_SKEW_SECONDS * 1000)].map(
      ([exitPath, read]): Route => ({
        method: 'POST',
        path: exitPath,
        takesJson: true,
        clientLimit: cancelLimit,
        handle: writing('exit', takeExit(read)),
      }),
    ),
    {
      method: 'PATCH',
      path: paths.quoteData,
      takesJson: true,
      // Each patch costs the CPU of a recovery and a signature.
      clientLimit: { name: 'client-patches', units: settings.PATCH_REQUESTS_MAX },
      handle: counted('patch', createPatch(parts)),
    },
  ];
}
