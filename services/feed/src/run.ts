import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { methodsAt, paths } from '@makerbook/contracts-http';
import { monotonicMs, type UnixMs, unixMs } from '@makerbook/contracts-primitives';
import {
  type ApiRequest,
  isRefusal,
  type Refusal,
  type Reply,
  type Route,
  readQuery,
  serveApi,
  serveOps,
  shareResult,
  startService,
  unavailable,
} from '@makerbook/http';
import { awaitTopics, connectLog } from '@makerbook/kafka';
import { kafkaConnection } from '@makerbook/settings';
import type { Telemetry } from '@makerbook/telemetry';
import { z } from 'zod';
import { type Admitted, admitReaders, FILE_AGE_MS_MAX, type Readers } from './admit-readers.js';
import { createConsole } from './console/create-console.js';
import type { FeedSettings } from './env.js';
import { judgeReadiness } from './health.js';
import { type LiveBook, openBook } from './live-book.js';
import { type LiveFills, openFills } from './live-fills.js';
import { createMetrics, type Kind } from './metrics.js';
import { answerPairs, listPairs, quoteAmount, showLadder } from './quote-book.js';
import { sendSnapshots } from './send-snapshot.js';
import { type BookStreams, serveStreams } from './stream-book.js';

/** The running feed service. The API listens on `port`. */
export type Feed = Awaited<ReturnType<typeof runFeed>>;

type Parts = Pick<Telemetry, 'logger'> & {
  readonly book: LiveBook;
  readonly fills: LiveFills;
  readonly streams: Pick<BookStreams, 'stream'>;
  readonly fillStreams: Pick<BookStreams, 'stream'>;
  readonly readers: Readers;
  readonly metrics: Pick<ReturnType<typeof createMetrics>, 'read' | 'sent'>;
  readonly unixMs: () => UnixMs;
};

const PAIRS_AGE_MS_MAX = 1_000;

/**
 * Starts the service that serves the router's feed over HTTP. Resolves when it listens. It is ready once it has read
 * the book. If the book breaks the promises of the feed, the process ends, and a new one reads the book again.
 * @throws TopicMismatch when the topic is missing or has another number of partitions
 */
export function runFeed(settings: FeedSettings, { logger, serveMetrics }: Pick<Telemetry, 'logger' | 'serveMetrics'>) {
  return startService(async ({ onStop, fail }) => {
    const names = topicNames(settings.TOPIC_PREFIX);
    const readers = admitReaders({
      readFile: settings.BOOK_READERS,
      streamsMax: settings.STREAMS_MAX,
      monotonicMs,
      onFault: (error) => logger.error({ reason: error.message }, 'the new readers are invalid: the earlier ones stay'),
    });
    const renewing = setInterval(readers.renew, FILE_AGE_MS_MAX).unref();
    onStop(async () => clearInterval(renewing));
    const log = connectLog({ ...kafkaConnection(settings), clientId: 'feed', logger });
    onStop(log.close);
    const specs = topicSpecs(names, settings.PARTITIONS).filter(
      ({ name }) => name === names.book || name === names.fills,
    );
    const topics = awaitTopics(log, { specs, logger, onFatal: fail });
    onStop(topics.stop);
    await topics.firstTry;
    const book = openBook(log, {
      topic: names.book,
      partitions: settings.PARTITIONS,
      recentBytesMax: settings.RECENT_BYTES_MAX,
      onFatal: fail,
      onNews: () => streams.send(),
    });
    onStop(book.stop);
    void book.caughtUp.then(() => logger.info({ orders: book.entries() }, 'the book is read'));
    const fills = openFills(log, {
      topic: names.fills,
      book,
      fillsMax: settings.FILLS_MAX,
      onFatal: fail,
      onNews: () => fillStreams.send(),
    });
    onStop(fills.stop);
    const metrics = createMetrics(book, readers, unixMs);
    const streams = serveStreams({ feed: book, name: 'book', ended: metrics.ended });
    const fillStreams = serveStreams({ feed: fills, name: 'fills', ended: metrics.ended });
    const ops = await serveOps(settings, { ready: () => judgeReadiness(book), serveMetrics });
    onStop(ops.stop);
    const routes = createRoutes(settings, { book, fills, streams, fillStreams, readers, metrics, logger, unixMs });
    const api = await serveApi(settings, { routes, methodsAt, logger });
    onStop(api.stop);
    const ofConsole = () => [...routes, ...createConsoleRoutes(settings, readers)];
    const own = { ...settings, PORT: settings.CONSOLE_PORT };
    const isOn = settings.CONSOLE === 'on';
    const forOperators = isOn ? await serveApi(own, { routes: ofConsole(), methodsAt: {}, logger }) : undefined;
    onStop(async () => forOperators?.stop());
    onStop(async () => streams.stop());
    onStop(async () => fillStreams.stop());
    const ports = { port: api.port, opsPort: ops.port, consolePort: forOperators?.port };
    logger.info(ports, 'feed listens');
    return ports;
  });
}

/** Creates the routes for routers, over any source of the book. */
export function createRoutes(settings: FeedSettings, parts: Parts): Route[] {
  const { book, fills, streams, fillStreams, readers, metrics, logger, unixMs } = parts;
  const { STALE_SECONDS_MAX: staleSecondsMax, ORDER_FILLER_ADDRESS: orderFiller } = settings;
  const quotes = { book, staleSecondsMax, orderFiller, unixMs };
  const readPairs = shareResult(async () => listPairs(quotes), PAIRS_AGE_MS_MAX);
  const snapshot = sendSnapshots({ book, snapshotsMax: settings.SNAPSHOTS_MAX, sent: metrics.sent });
  const route = (
    path: string,
    kind: Kind,
    answer: (request: ApiRequest, reader: Admitted) => Reply | Promise<Reply>,
  ): Route => ({
    method: 'GET',
    path,
    async handle(request) {
      const reader = readers.admit(request);
      if (isRefusal(reader)) return reader;
      request.describe({ reader: reader.name });
      if (book.recent() === undefined) return unavailable('the book is still being read; try again');
      const reply = await answer(request, reader);
      const headers = { ...reader.headers(), ...reply.headers };
      if (isRefusal(reply)) return { ...reply, headers };
      metrics.read(reader.name, kind);
      if (reply.stream !== undefined)
        logger.info({ requestId: request.requestId, reader: reader.name }, `a ${kind} begins`);
      return { ...reply, headers };
    },
  });
  return [
    route(paths.bookSnapshot, 'snapshot', (request, reader) => refuseParameters(request) ?? snapshot(request, reader)),
    route(paths.bookStream, 'stream', (request, { takeRoom }) => streams.stream(request, takeRoom)),
    route(paths.bookFills, 'fills', (request) =>
      fills.recent() === undefined ? unavailable('the fills are still being read; try again') : fills.list(request),
    ),
    route(paths.bookFillStream, 'fill stream', (request, { takeRoom }) => fillStreams.stream(request, takeRoom)),
    route(paths.bookPairs, 'pairs', (request, { charge }) => answerPairs(request, charge, { ...quotes, readPairs })),
    route(paths.bookQuote, 'quote', (request) => quoteAmount(request, quotes)),
    route(paths.bookLadder, 'ladder', (request) => showLadder(request, quotes)),
  ];
}

function createConsoleRoutes(settings: FeedSettings, readers: Readers): Route[] {
  const refuse = (request: ApiRequest) => {
    const reader = readers.admit(request);
    return isRefusal(reader) ? reader : undefined;
  };
  return createConsole(settings, refuse, monotonicMs);
}

function refuseParameters({ query }: ApiRequest): Refusal | undefined {
  const read = readQuery(query, z.object({}));
  return isRefusal(read) ? read : undefined;
}
