import { type AskWallets, openWallets } from '@makerbook/chain';
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { createRequestHashers } from '@makerbook/contracts-evm';
import { methodsAt, paths } from '@makerbook/contracts-http';
import { type Hex, monotonicMs, type UnixMs, unixMs, unlessAway } from '@makerbook/contracts-primitives';
import { type Route, serveApi, serveOps, startService } from '@makerbook/http';
import { awaitTopics, connectLog, type Log } from '@makerbook/kafka';
import { connectPostgres, type Postgres, readPartitionClocks } from '@makerbook/postgres';
import {
  kafkaConnection,
  postgresConnection,
  redisConnection,
  signingDomain,
  walletConnection,
} from '@makerbook/settings';
import { recoveryLibrary } from '@makerbook/signatures';
import type { Telemetry } from '@makerbook/telemetry';
import { followMakers, type Makers } from '@makerbook/whitelist';
import type { Asker } from './answer-signed.js';
import { createWriteWatch, type WriteWatchOptions } from './await-writes.js';
import { openCursors } from './cursor.js';
import { createDocumentRoutes, createInfoRoute, foldedBlock } from './describe-service.js';
import type { QuerySettings } from './env.js';
import { type FindOrderParts, findOrder } from './find-order.js';
import { judgeReadiness } from './health.js';
import { type ListOrdersParts, listOrders } from './list-orders.js';
import { createMetrics } from './metrics.js';
import { type ReadHistoryParts, readEntriesFrom, readHistory, readNewsFrom, readPageFrom } from './read-history.js';
import { cacheLists, createListFinder, readList } from './read-list.js';
import { readOrderFrom } from './read-order.js';
import { connectRedis, type RedisConnection } from './redis/connect.js';
import { createReplayGuard } from './redis/guard-replays.js';
import { type HistoryQuery, type NewsQuery, readMakerHistory, readNews } from './store/read-histories.js';
import { readListChanges, readListState, readMakerList } from './store/read-lists.js';
import { readMaker } from './store/read-maker.js';
import { readOrderHistory } from './store/read-order-history.js';
import {
  type OrderStreams,
  type OrderStreamsParts,
  type StreamParts,
  serveStreams,
  streamOrders,
} from './stream-orders.js';
import { tailRows } from './tail-rows.js';
import { type TellAccountParts, tellAccount } from './tell-account.js';
import { tellOperators } from './tell-operators.js';

/** The running query service. The API listens on `port`. */
export type Query = Awaited<ReturnType<typeof runQuery>>;

const WHOLE_LIST = { from: undefined, ordersMax: undefined };
const REDIS_START_MS_MAX = 2_000;
/** If Postgres takes longer, it counts as down, and the known list is served. */
const STATEMENT_MS_MAX = 2_000;

/**
 * Starts the service that answers GET. Resolves when it listens. It is ready once it has read the whitelist. Redis and
 * Postgres may be down.
 * @throws TopicMismatch when a topic is missing or has another number of partitions
 */
export function runQuery(
  settings: QuerySettings,
  { logger, serveMetrics }: Pick<Telemetry, 'logger' | 'serveMetrics'>,
) {
  return startService(async ({ onStop, fail }) => {
    const names = topicNames(settings.TOPIC_PREFIX);
    const log = connectLog({ ...kafkaConnection(settings), clientId: 'query', logger });
    onStop(log.close);
    const read = [names.makers, names.makerEvents];
    const specs = topicSpecs(names, settings.PARTITIONS).filter(({ name }) => read.includes(name));
    const topics = awaitTopics(log, { specs, logger, onFatal: fail });
    onStop(topics.stop);
    await topics.firstTry;
    const redis = connectRedis({ ...redisConnection(settings), logger, clientName: 'query' });
    onStop(redis.close);
    const postgres = connectPostgres({
      ...postgresConnection(settings),
      poolMax: settings.POSTGRES_POOL_MAX,
      statementTimeoutMs: STATEMENT_MS_MAX,
      looksUpOnly: true,
      applicationName: 'query',
      onConnectionLost: (error) =>
        logger.warn({ reason: error.message }, 'Postgres is down, or a connection to it was lost'),
    });
    onStop(postgres.close);
    const makers = followMakers(log, names.makers, logger, fail);
    onStop(makers.stop);
    await redis.waitUntilReady(REDIS_START_MS_MAX);
    const rows = openReadModel(postgres);
    const ops = await serveOps(settings, {
      ready: () => judgeReadiness({ makers, postgres, redis: settings.REDIS_URL === '' ? undefined : redis }),
      serveMetrics,
      tell: tellOperators(settings, { postgres, rows, log, makers }),
    });
    onStop(ops.stop);
    const wallets = openWallets({
      ...walletConnection(settings),
      monotonicMs,
      onAway: (reason) => logger.warn({ reason }, 'contract wallets could not be asked'),
    });
    onStop(async () => wallets?.close());
    const readBlock = async () =>
      foldedBlock((await unlessAway(rows.readPartitionClocks())) ?? [], settings.PARTITIONS);
    const onError = (error: unknown) => logger.error({ error }, 'a stream failed');
    const streams = openStreams(settings, { log, rows, onError });
    const routes = [
      ...createMakerRoutes(settings, { log, redis, makers, rows, streams, askWallets: wallets?.ask, unixMs }),
      createInfoRoute(settings, { readBlock, unixMs }),
      ...createDocumentRoutes(settings),
    ];
    const api = await serveApi(settings, { routes, methodsAt, logger });
    onStop(api.stop);
    onStop(async () => streams.stop());
    logger.info({ port: api.port, opsPort: ops.port, recovery: recoveryLibrary }, 'query listens');
    return { port: api.port, opsPort: ops.port };
  });
}

/** The statements that read the rows. */
export type ReadModel = ReturnType<typeof openReadModel>;

export function openReadModel(postgres: Postgres) {
  return {
    readListState: (maker: Hex) => readListState(postgres, maker),
    readMaker: (maker: Hex) => readMaker(postgres, maker),
    readMakerList: (maker: Hex) => readMakerList(postgres, maker),
    readListChanges: (maker: Hex, since: bigint) => readListChanges(postgres, maker, since),
    readOrderHistory: (maker: Hex, orderHash: Hex, entriesMax: number, before?: bigint) =>
      readOrderHistory(postgres, maker, orderHash, entriesMax, before),
    readPartitionClocks: () => readPartitionClocks(postgres),
    readNews: (asked: NewsQuery) => readNews(postgres, asked),
    readMakerHistory: (asked: HistoryQuery) => readMakerHistory(postgres, asked),
  };
}

/** Opens the streams of a process on the given connections. */
export function openStreams(
  settings: QuerySettings,
  { log, rows, after, onError }: Pick<MakerRouteParts, 'log' | 'rows' | 'after'> & Pick<OrderStreamsParts, 'onError'>,
): OrderStreams {
  const { PARTITIONS: partitions, STREAMS_MAX: streamsMax, STREAMS_PER_MAKER_MAX: streamsPerMakerMax } = settings;
  const topic = topicNames(settings.TOPIC_PREFIX).makerEvents;
  const sources = { rows, log, topic, cursors: openCursors({ rows, log, topic }, partitions) };
  const readEntries = readEntriesFrom(sources, partitions);
  const tail = tailRows({ rows, readNews: readNewsFrom(sources), after, onError });
  return serveStreams({ readEntries, tail, partitions, streamsMax, streamsPerMakerMax, after, onError });
}

/** The sources that answer makers' requests, and the clocks. */
export interface MakerRouteParts extends Pick<WriteWatchOptions, 'after'> {
  readonly log: Pick<Log, 'readRecords' | 'readRange' | 'offsetsAt' | 'endOffsets'>;
  readonly redis: RedisConnection;
  readonly rows: ReadModel;
  readonly streams: OrderStreams;
  readonly makers: Makers;
  /** Undefined if contracts cannot sign. */
  readonly askWallets?: AskWallets | undefined;
  readonly unixMs: () => UnixMs;
}

/** Creates the routes of makers' GET requests on the given connections. */
export function createMakerRoutes(settings: QuerySettings, parts: MakerRouteParts): Route[] {
  const { log, redis, rows, makers, streams, unixMs, after } = parts;
  const metrics = createMetrics(makers, streams);
  const cache = cacheLists();
  const readState = (maker: Hex) => unlessAway(rows.readListState(maker));
  const watch = createWriteWatch({ readState, waitMsMax: settings.READ_WAIT_MS_MAX, ...(after && { after }) });
  const listRules = { routingGraceSeconds: settings.ROUTING_GRACE_SECONDS };
  const finder = createListFinder({ cache, rows, rules: listRules });
  const budget = { ratePerSecond: settings.LIST_BUDGET_PER_SECOND, burst: settings.LIST_BUDGET_BURST };
  const replays = createReplayGuard(redis, {
    budget,
    // A request may be this old, or this far ahead of the clock. One more second is for clocks that differ.
    windowMs: (settings.REQUEST_TTL_SECONDS + settings.CLOCK_SKEW_SECONDS + 1) * 1000,
  });
  const signed = {
    hashers: createRequestHashers(signingDomain(settings)),
    rules: {
      requestTtlSeconds: settings.REQUEST_TTL_SECONDS,
      clockSkewSeconds: settings.CLOCK_SKEW_SECONDS,
      // A maker who was suspended or removed still sees what is open, and can cancel it.
      isKnown: (maker: Hex) => makers.admissionOf(maker) !== 'UNKNOWN',
      mayRead: makers.mayRead,
      askWallets: parts.askWallets,
    },
    isWhitelistKnown: makers.isCaughtUp,
    replays,
    budget,
    unixMs,
    readState,
    checkedLocally: metrics.checkedLocally,
  };
  const partitions = settings.PARTITIONS;
  const topic = topicNames(settings.TOPIC_PREFIX).makerEvents;
  const cursors = openCursors({ rows, log, topic }, partitions);
  const sources = { watch, rows, log, topic, cursors };
  const listParts: ListOrdersParts = {
    ...signed,
    cursors,
    partitions,
    readList: (asker, page) => readList(asker, page, { cache, watch, finder }),
    listed: metrics.listed,
  };
  const orderParts: FindOrderParts = { ...signed, listRules, readOrder: readOrderFrom(sources, partitions) };
  const accountParts: TellAccountParts = { ...signed, settings, makers, watch, readMaker: rows.readMaker };
  const historyParts: ReadHistoryParts = { ...signed, readPage: readPageFrom(sources, partitions) };
  const readWhole = (asker: Asker) => listParts.readList(asker, WHOLE_LIST);
  const readEntries = readEntriesFrom(sources, partitions);
  const streamParts: StreamParts = { ...signed, cursors, partitions, streams, readEntries, readList: readWhole };
  return [
    { method: 'GET', path: paths.stream, handle: (request) => streamOrders(request, streamParts) },
    { method: 'GET', path: paths.limitOrders, handle: (request) => listOrders(request, listParts) },
    { method: 'GET', path: paths.account, handle: (request) => tellAccount(request, accountParts) },
    { method: 'GET', path: paths.history, handle: (request) => readHistory(request, historyParts) },
    { method: 'GET', path: paths.limitOrder, handle: (request) => findOrder(request, orderParts) },
  ];
}
