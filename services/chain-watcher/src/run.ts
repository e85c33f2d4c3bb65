import { setMaxListeners } from 'node:events';
import {
  ChainContradiction,
  createNode,
  createStateReader,
  isContract,
  type Node,
  RpcUnavailable,
  readChainId,
} from '@makerbook/chain';
import { type TopicNames, topicNames, topicSpecs } from '@makerbook/contracts-events';
import { type Address, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { type OpenServer, type Running, type Starting, serveOps, startService } from '@makerbook/http';
import { connectLog } from '@makerbook/kafka';
import { connectPostgres, readOpenOrders } from '@makerbook/postgres';
import { kafkaConnection, postgresConnection } from '@makerbook/settings';
import type { Logger, Telemetry } from '@makerbook/telemetry';
import { openSource } from './blocks/open-source.js';
import type { WatcherSettings } from './env.js';
import { judgeLiveness, judgeReadiness, Vitals } from './health.js';
import { createMetrics, type WatcherMeters } from './metrics.js';
import type { MakerReader } from './observe/read-makers.js';
import { waitFor } from './wait.js';
import { LogContradiction } from './watch/follow-log.js';
import { Work, type WorkParts } from './work.js';

/** The chain-watcher as it runs. */
export interface Watcher extends Running {
  readonly opsPort: number;
}

type ServiceTelemetry = Pick<Telemetry, 'logger' | 'serveMetrics'>;

/**
 * Starts the service that follows the chain and appends what it reads of each maker. Resolves when it runs; it is
 * ready once it has read the log, and, where it publishes, caught up with the chain. A node, Postgres and the Kafka of
 * the Kaia node may be away, now and later. `failed` settles when the watcher can do no more and is to be stopped: at once
 * where an invariant is broken, and where it has halted some time later, so that its metrics can be scraped.
 * @throws TopicMismatch when a topic is missing or has other partitions than configured, LogUnavailable without Kafka
 */
export function runWatcher(settings: WatcherSettings, telemetry: ServiceTelemetry): Promise<Watcher> {
  return startService(async ({ onStop, fail }) => {
    const watcher = new RunningWatcher(settings, telemetry, fail);
    onStop(() => watcher.stop());
    return { opsPort: await watcher.start() };
  });
}

class RunningWatcher {
  private readonly settings: WatcherSettings;
  private readonly telemetry: ServiceTelemetry;
  private readonly logger: Logger;
  private readonly end: Starting['fail'];
  private readonly unixMs = Date.now;
  /** How long something takes is measured by it: the machine's clock may be set. */
  private readonly nowMs = () => performance.now();
  private readonly meters: WatcherMeters = createMetrics();
  private readonly vitals: Vitals;
  private readonly stopping = new AbortController();
  /** What is open, in the order of opening. */
  private readonly closing: (() => Promise<void> | void)[] = [];
  private readonly leaving = new AbortController();
  private closed: Promise<void> | undefined;
  private ops: OpenServer | undefined;

  constructor(settings: WatcherSettings, telemetry: ServiceTelemetry, end: Starting['fail']) {
    this.settings = settings;
    this.telemetry = telemetry;
    this.logger = telemetry.logger;
    this.end = end;
    // Each partition of the book may wait for its log.
    setMaxListeners(0, this.stopping.signal);
    this.vitals = new Vitals({ logger: telemetry.logger, nowMs: this.nowMs, unixMs: this.unixMs, wait: waitFor });
  }

  /** @returns the port for operators */
  async start(): Promise<number> {
    const { settings, logger, meters, vitals, nowMs, unixMs, closing } = this;
    const { signal } = this.stopping;
    const names = topicNames(settings.TOPIC_PREFIX);
    const log = connectLog({ ...kafkaConnection(settings), clientId: 'chain-watcher', logger });
    closing.push(() => log.close());
    const postgres = connectPostgres({
      ...postgresConnection(settings),
      poolMax: 1,
      statementTimeoutMs: SNAPSHOT_MS_MAX,
    });
    closing.push(() => postgres.close());
    const urls = settings.RPC_URL;
    const node = createNode({ urls, nowMs, chainId: settings.CHAIN_ID, timeoutMs: settings.RPC_TIMEOUT_MS });
    closing.push(() => node.close());
    await log.verifyTopics(topicsToRead(names, settings.PARTITIONS));
    const reader = this.openReader(node);
    const { source, polled, stop } = await openSource({
      settings,
      node,
      withLogs: reader !== undefined,
      logger,
      signal,
      nowMs,
      wait: (ms) => waitFor(ms, signal),
      onSubscriptionBroken: () => meters.subscriptionBroken(),
      onGap: () => meters.gapFilled(),
      onFatal: (error) => this.fail(error),
    });
    closing.push(stop);
    const work = new Work({
      ...this.reports(),
      log,
      openPublisher: () =>
        log.createFencedPublisher({
          transactionalId: `${settings.TOPIC_PREFIX}makerbook-chain-watcher`,
          ownPartitions: Array.from({ length: settings.PARTITIONS }, (_, partition) => {
            return { topic: names.makerEvents, partition };
          }),
          timeoutMs: settings.KAFKA_TIMEOUT_MS,
        }),
      topics: names,
      node,
      source,
      reader,
      settings,
      logger,
      signal,
      nowMs,
      unixMs,
      random: Math.random,
      wait: waitFor,
      retryFor: (worker, workSignal) => vitals.retryFor(worker, workSignal),
      loadOrders: (onOrders) => readOpenOrders(postgres, onOrders),
      verifyChain: () => verifyChain(node, settings, reader !== undefined),
    });
    closing.push(() => work.stop());
    const signs = () => vitals.signs(work, source.headNumber());
    meters.observe({
      signs,
      work,
      isSweeping: reader !== undefined && settings.SWEEP_PAIRS_PER_SECOND > 0,
      isSubscribed: () => polled.isSubscribed(),
      rpc: () => node.counts(),
      suspects: () => reader?.state.suspects().size ?? 0,
    });
    this.ops = await serveOps(settings, {
      live: () => judgeLiveness(signs(), settings.LIVE_SILENCE_MS_MAX),
      ready: () => judgeReadiness(signs(), settings.READY_LAG_SECONDS_MAX),
      serveMetrics: this.telemetry.serveMetrics,
    });
    const working = work.run().catch((error: Error) => this.fail(error));
    closing.push(() => working);
    return this.ops.port;
  }

  async stop(): Promise<void> {
    this.leaving.abort();
    await this.close();
    await this.ops?.stop();
  }

  private close(): Promise<void> {
    this.stopping.abort();
    this.closed ??= (async () => {
      for (const close of this.closing.toReversed()) await close();
    })();
    return this.closed;
  }

  private openReader(node: Node): MakerReader | undefined {
    const { settings, logger, meters } = this;
    const protocol = settings.LIMIT_ORDER_PROTOCOL_ADDRESS;
    if (protocol === ZERO_ADDRESS) {
      logger.warn({}, 'LIMIT_ORDER_PROTOCOL_ADDRESS is zero: nothing can be read, and orders stay VALIDATING');
      return undefined;
    }
    const state = createStateReader({
      node,
      multicall: settings.MULTICALL_ADDRESS,
      callsMax: settings.MULTICALL_CALLS_MAX,
      suspectCallsMax: settings.SUSPECT_CALLS_MAX,
    });
    const logged = new Set<Address>();
    return {
      state,
      protocol,
      onUnreadable: (token, what, block) => {
        meters.unreadable(what);
        if (logged.has(token) || logged.size >= LOGGED_TOKENS_MAX) return;
        logged.add(token);
        logger.warn({ token, what, block: block.number }, 'a token cannot be read: it counts as zero, logged once');
      },
    };
  }

  private reports(): Pick<WorkParts, 'onBlock' | 'onCatchUp' | 'onRole' | 'onFatal'> {
    const { logger, meters, vitals, nowMs } = this;
    let reportedAtMs = Number.NEGATIVE_INFINITY;
    return {
      onBlock: ({ number }, facts, tookMs) => {
        meters.blockProcessed(facts, tookMs);
        logger.debug({ block: number, facts, tookMs }, 'block processed');
      },
      onCatchUp: (progress) => {
        vitals.noteTurn();
        if (nowMs() - reportedAtMs < PROGRESS_LINE_MS) return;
        reportedAtMs = nowMs();
        logger.info({ ...progress }, 'catching up');
      },
      onRole: (role) => {
        vitals.noteRole();
        if (role === 'HOLDER') meters.tookOver();
        logger.info({ role }, 'the role of this watcher has changed');
      },
      onFatal: (error) => this.fail(error),
    };
  }

  private fail(error: Error): void {
    if (this.stopping.signal.aborted) return;
    this.stopping.abort();
    if (error instanceof ChainContradiction || error instanceof LogContradiction) {
      this.vitals.halt = error;
      this.meters.halted();
      this.logger.error({ error }, 'the watcher halts: see "When it halts" in its README');
      void this.linger(error);
    } else {
      this.logger.error({ error }, 'the watcher cannot go on, and ends');
      this.end(error);
    }
  }

  /** A watcher that has halted stays for some time; what was under way is not published any more. */
  private async linger(error: Error): Promise<void> {
    void this.close().catch(() => undefined);
    await waitFor(this.settings.HALT_LINGER_MS, this.leaving.signal);
    this.end(error);
  }
}

function topicsToRead(names: TopicNames, partitions: number): ReturnType<typeof topicSpecs> {
  return topicSpecs(names, partitions).filter(({ name }) => name === names.makerEvents || name === names.book);
}

/**
 * Throws ChainContradiction where any node is of another chain. One that is away is asked again when it comes back
 * (createNode); where all are, or there is no contract where one must be, that is an RpcUnavailable.
 */
async function verifyChain(node: Node, settings: WatcherSettings, isReading: boolean): Promise<void> {
  const asked = await Promise.allSettled(node.endpoints().map(readChainId));
  const failures = asked.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  const contradiction = failures.find((failure) => failure instanceof ChainContradiction);
  if (contradiction !== undefined) throw contradiction;
  if (failures.length === asked.length) throw failures[0];
  if (!isReading) return;
  for (const name of ['LIMIT_ORDER_PROTOCOL_ADDRESS', 'MULTICALL_ADDRESS'] as const) {
    if (await isContract(node, settings[name])) continue;
    throw new RpcUnavailable(`there is no contract at ${name}=${settings[name]}, or the node lags behind`);
  }
}

/** One page of the snapshot. */
const SNAPSHOT_MS_MAX = 10_000;
const LOGGED_TOKENS_MAX = 10_000;
const PROGRESS_LINE_MS = 2000;
