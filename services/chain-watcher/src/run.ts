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
import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { type Address, monotonicMs, pause, unixMs, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { healthOf, type OpenServer, type Running, type Starting, serveOps, startService } from '@makerbook/http';
import { connectLog } from '@makerbook/kafka';
import { connectPostgres } from '@makerbook/postgres';
import { kafkaConnection, postgresConnection } from '@makerbook/settings';
import type { Logger, Telemetry } from '@makerbook/telemetry';
import { openSource } from './blocks/open-source.js';
import type { WatcherSettings } from './env.js';
import { judgeLiveness, judgeReadiness, type Signs, Vitals } from './health.js';
import { createMetrics, type WatcherMeters } from './metrics.js';
import type { MakerReader } from './observe/read-makers.js';
import { readOpenOrders } from './store/read-open-orders.js';
import { LogContradiction } from './watch/follow-log.js';
import { Work, type WorkParts } from './work.js';

/** The timeout for one page of the snapshot. */
const SNAPSHOT_MS_MAX = 10_000;
const LOGGED_TOKENS_MAX = 10_000;
const PROGRESS_LINE_MS = 2000;

/** A running chain-watcher. */
export interface Watcher extends Running {
  readonly opsPort: number;
}

type ServiceTelemetry = Pick<Telemetry, 'logger' | 'serveMetrics'>;

/**
 * Starts the service that follows the chain and appends its readings of each maker. Resolves when it runs. It is ready
 * once it has read the log and, if it publishes, caught up with the chain. A node, Postgres and the Kaia node's Kafka
 * may be down, now or later. While Kafka is down the start waits: the watcher is alive but not ready. `failed` settles
 * when the watcher can do no more and has to be stopped: at once after a broken invariant, and some time after a halt,
 * so that its metrics can be scraped.
 * @throws TopicMismatch when a topic is missing or has other partitions than configured
 */
export function runWatcher(settings: WatcherSettings, telemetry: ServiceTelemetry): Promise<Watcher> {
  return startService(async (starting) => ({
    opsPort: await new RunningWatcher(settings, telemetry, starting).start(),
  }));
}

class RunningWatcher {
  readonly #settings: WatcherSettings;
  readonly #telemetry: ServiceTelemetry;
  readonly #logger: Logger;
  readonly #starting: Starting;
  readonly #meters: WatcherMeters = createMetrics();
  readonly #vitals: Vitals;
  /** Undefined until Kafka has answered. */
  #signs: Signs | undefined;
  /** Aborted when the watcher stops or halts. */
  readonly #stopping = new AbortController();
  /** Aborted when the process has to end, even if it has halted. */
  readonly #leaving = new AbortController();

  constructor(settings: WatcherSettings, telemetry: ServiceTelemetry, starting: Starting) {
    this.#settings = settings;
    this.#telemetry = telemetry;
    this.#logger = telemetry.logger;
    this.#starting = starting;
    // Each partition of the book may listen while it waits for its log.
    setMaxListeners(0, this.#stopping.signal);
    // Measure durations by a clock that nobody sets.
    this.#vitals = new Vitals({ logger: telemetry.logger, monotonicMs, unixMs });
  }

  /** @returns the port for operators */
  async start(): Promise<number> {
    const [settings, logger, meters, vitals] = [this.#settings, this.#logger, this.#meters, this.#vitals];
    const { signal } = this.#stopping;
    const { monotonicMs, unixMs } = vitals;
    const ops = await this.#serveOps();
    this.#onStop(ops.stop);
    const names = topicNames(settings.TOPIC_PREFIX);
    const log = connectLog({ ...kafkaConnection(settings), clientId: 'chain-watcher', logger });
    this.#onStop(() => log.close());
    const postgres = connectPostgres({
      ...postgresConnection(settings),
      poolMax: 1,
      statementTimeoutMs: SNAPSHOT_MS_MAX,
    });
    this.#onStop(() => postgres.close());
    const urls = settings.RPC_URL;
    const node = createNode({ urls, monotonicMs, chainId: settings.CHAIN_ID, timeoutMs: settings.RPC_TIMEOUT_MS });
    this.#onStop(() => node.close());
    const read = [names.makerEvents, names.book];
    const specs = topicSpecs(names, settings.PARTITIONS).filter(({ name }) => read.includes(name));
    await vitals.retryFor('blocks', signal)(() => log.verifyTopics(specs));
    const reader = this.#openReader(node);
    const source = await openSource({
      settings,
      node,
      withLogs: reader !== undefined,
      logger,
      signal,
      monotonicMs,
      wait: (ms) => pause(ms, signal),
      onSubscriptionBroken: () => meters.breaks.add(1),
      onGap: () => meters.gaps.add(1),
      onFatal: (error) => this.#fail(error),
      onStop: (close) => this.#onStop(close),
    });
    const work = new Work({
      ...this.#reports(),
      log,
      openPublisher: () =>
        log.createFencedPublisher({
          transactionalId: `${settings.TOPIC_PREFIX}makerbook-chain-watcher`,
          ownPartitions: Array.from({ length: settings.PARTITIONS }, (_, partition) => {
            return { topic: names.makerEvents, partition };
          }),
          timeoutMs: settings.KAFKA_TIMEOUT_MS,
          isCompressed: true,
        }),
      topics: names,
      node,
      source,
      reader,
      settings,
      logger,
      signal,
      monotonicMs,
      unixMs,
      random: Math.random,
      wait: pause,
      retryFor: (worker, workSignal) => vitals.retryFor(worker, workSignal),
      loadOrders: (onOrders) => readOpenOrders(postgres, onOrders),
      verifyChain: () => verifyChain(node, settings, reader !== undefined),
    });
    this.#onStop(() => work.stop());
    const signs = { vitals, work, headNumber: () => source.headNumber() };
    meters.observe({
      ...signs,
      isSweeping: reader !== undefined && settings.SWEEP_PAIRS_PER_SECOND > 0,
      source,
      rpc: () => node.counts(),
      suspects: () => reader?.state.suspects().size ?? 0,
    });
    this.#signs = signs;
    const working = work.run().catch((error: Error) => this.#fail(error));
    this.#onStop(() => working);
    return ops.port;
  }

  #serveOps(): Promise<OpenServer> {
    const settings = this.#settings;
    const { failures } = this.#vitals;
    return serveOps(settings, {
      live: () => (this.#signs === undefined ? healthOf({}) : judgeLiveness(this.#signs, settings.LIVE_SILENCE_MS_MAX)),
      ready: () =>
        this.#signs === undefined
          ? healthOf({ start: failures.get('blocks') ?? 'the topics are being checked' })
          : judgeReadiness(this.#signs, settings.READY_LAG_SECONDS_MAX),
      serveMetrics: this.#telemetry.serveMetrics,
    });
  }

  /** Parts close in the reverse order of opening. The work is aborted before any of them closes. */
  #onStop(close: () => unknown): void {
    this.#starting.onStop(() => {
      this.#leaving.abort();
      this.#stopping.abort();
      return close();
    });
  }

  #openReader(node: Node): MakerReader | undefined {
    const settings = this.#settings;
    const logger = this.#logger;
    const meters = this.#meters;
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
        meters.unreadable.add(1, { what });
        if (logged.has(token) || logged.size >= LOGGED_TOKENS_MAX) return;
        logged.add(token);
        logger.warn({ token, what, block: block.number }, 'a token cannot be read: it counts as zero, logged once');
      },
    };
  }

  #reports(): Pick<WorkParts, 'onBlock' | 'onCatchUp' | 'onRole' | 'onFatal'> {
    const logger = this.#logger;
    const meters = this.#meters;
    const vitals = this.#vitals;
    let reportedAtMs = Number.NEGATIVE_INFINITY;
    return {
      onBlock: ({ number }, facts, tookMs) => {
        meters.blocks.add(1);
        meters.facts.add(facts);
        if (tookMs !== undefined) meters.blockSeconds.record(tookMs / 1000);
        logger.debug({ block: number, facts, tookMs }, 'block processed');
      },
      onCatchUp: (progress) => {
        vitals.noteTurn();
        if (vitals.monotonicMs() - reportedAtMs < PROGRESS_LINE_MS) return;
        reportedAtMs = vitals.monotonicMs();
        logger.info({ ...progress }, 'catching up');
      },
      onRole: (role) => {
        vitals.noteRole();
        if (role === 'HOLDER') meters.takeovers.add(1);
        logger.info({ role }, 'the role of this watcher has changed');
      },
      onFatal: (error) => this.#fail(error),
    };
  }

  /** Stops publishing, even what is in flight. A watcher that has halted stays for some time. */
  #fail(error: Error): void {
    const stopping = this.#stopping;
    const leaving = this.#leaving;
    const vitals = this.#vitals;
    const meters = this.#meters;
    const logger = this.#logger;
    const settings = this.#settings;
    const starting = this.#starting;
    if (stopping.signal.aborted) return;
    stopping.abort();
    if (error instanceof ChainContradiction || error instanceof LogContradiction) {
      vitals.halt = error;
      meters.halts.add(1);
      logger.error({ error }, 'the watcher halts: see "When it halts" in its README');
      void pause(settings.HALT_LINGER_MS, leaving.signal).then(() => starting.fail(error));
    } else {
      logger.error({ error }, 'the watcher cannot continue, and exits');
      starting.fail(error);
    }
  }
}

/**
 * Throws ChainContradiction if any node is of another chain. A node that is down is asked again when it comes back
 * (createNode). Throws RpcUnavailable if all nodes are down or a required contract is missing.
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
