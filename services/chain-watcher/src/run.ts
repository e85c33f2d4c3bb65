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
import { type Address, ZERO_ADDRESS } from '@makerbook/contracts-evm';
import { type OpsServer, type Running, serveOps } from '@makerbook/http';
import { connectLog, LogUnavailable } from '@makerbook/kafka';
import { kafkaConnection } from '@makerbook/settings';
import type { Telemetry } from '@makerbook/telemetry';
import type { BlockSource } from './block-source.js';
import type { WatcherSettings } from './env.js';
import { followBlockgroups } from './follow-blockgroups.js';
import { LogContradiction } from './follow-log.js';
import type { WatcherState } from './keep-position.js';
import { createMeters } from './measure.js';
import { pollBlocks } from './poll-blocks.js';
import type { FactReader } from './read-facts.js';
import { judgeLiveness, judgeReadiness, type Signs } from './report-health.js';
import { retrying } from './retry.js';
import type { SweepState } from './sweep-pairs.js';
import { watchHead } from './watch-head.js';
import { type Reader, wireWork } from './wire-work.js';

/** The chain-watcher as it runs. */
export interface Watcher extends Running {
  readonly opsPort: number;
  /**
   * Settles when the watcher can do no more and is to be stopped: at once where an invariant is broken, and where it has
   * halted some time later, so that its metrics can be scraped.
   */
  readonly failed: Promise<Error>;
  /** Where it stands, for tests. */
  readonly state: Readonly<WatcherState>;
}

/** What the process brings: its telemetry, and a clock that tests may set. */
export interface WatcherParts {
  readonly telemetry: Pick<Telemetry, 'logger' | 'serveMetrics'>;
  readonly nowMs?: () => number;
}

/**
 * Starts the service that follows the chain and appends what it says about each maker. Resolves when it runs; it is
 * ready once it has read the log and caught up with the chain. A node may be away, now and later, and so may the Kafka of
 * the Kaia node.
 * @throws TopicMismatch when a topic is missing or has other partitions than told, LogUnavailable without Kafka
 */
export async function runWatcher(settings: WatcherSettings, parts: WatcherParts): Promise<Watcher> {
  const { logger, serveMetrics } = parts.telemetry;
  const nowMs = parts.nowMs ?? Date.now;
  const startedAtMs = nowMs();
  const partitions = settings.PARTITIONS;
  const names = topicNames(settings.TOPIC_PREFIX);
  const readTopics = [names.makerEvents, names.book, names.resume];
  const protocol = settings.LIMIT_ORDER_PROTOCOL_ADDRESS;
  const multicall = settings.MULTICALL_ADDRESS;
  const stopping = new AbortController();
  const { signal } = stopping;
  const meters = createMeters();
  const state: WatcherState = {
    phase: 'READING_LOG',
    matched: undefined,
    processed: undefined,
    catchUp: undefined,
  };
  const sweep: SweepState = { endedAtMs: undefined, tookMs: undefined, pairs: 0, facts: 0 };

  let end: (error: Error) => void = () => undefined;
  const ended = new Promise<Error>((resolve) => {
    end = resolve;
  });
  /** Why a restart would not help. */
  let halt: Error | undefined;
  const onFatal = (error: Error) => {
    if (signal.aborted) return;
    stopping.abort();
    if (error instanceof ChainContradiction || error instanceof LogContradiction) {
      halt = error;
      meters.halted();
      logger.error({ error }, 'the watcher halts: see "When it halts" in its README');
    } else logger.error({ error }, 'the watcher cannot go on, and ends');
    end(error);
  };

  /** One failure of each source is shown, until the source works again. */
  const failures = new Map<Reader, string>();
  /** Of the block loop alone: the sweep and the orders may go on while it is stuck. */
  let lastTurnAtMs = nowMs();
  const noteTurn = (who: Reader) => {
    if (who === 'blocks') lastTurnAtMs = nowMs();
  };
  const wait = (ms: number) => waitFor(ms, signal);
  const retryFor =
    (who: Reader) =>
    <T>(work: () => Promise<T>): Promise<T> =>
      retrying(work, {
        signal,
        wait,
        onFailure: (error) => {
          noteTurn(who);
          if (!failures.has(who)) logger.warn({ who, reason: error.message }, 'a dependency is away: trying again');
          failures.set(who, error.message);
        },
        onSuccess: () => {
          noteTurn(who);
          if (failures.delete(who)) logger.info({ who }, 'the dependency is back');
        },
      });
  const retryBlocks = retryFor('blocks');

  const log = connectLog({ ...kafkaConnection(settings), clientId: 'chain-watcher', logger });
  const node = createNode({
    urls: settings.RPC_URL,
    nowMs,
    chainId: settings.CHAIN_ID,
    timeoutMs: settings.RPC_TIMEOUT_MS,
  });
  const closing: (() => Promise<void> | void)[] = [() => node.close(), () => log.close()];
  let closed: Promise<void> | undefined;
  const closeWork = () => {
    stopping.abort();
    closed ??= closeInTurn(closing);
    return closed;
  };
  let ops: OpsServer | undefined;
  const leaving = new AbortController();
  const stop = async () => {
    leaving.abort();
    await closeWork();
    await ops?.stop();
  };

  try {
    await log.verifyTopics(topicSpecs(names, partitions).filter(({ name }) => readTopics.includes(name)));
    const appender = log.createAppender({ lingerMs: 1, timeoutMs: settings.KAFKA_TIMEOUT_MS });
    const stateReader = createStateReader({
      node,
      multicall,
      callsMax: settings.MULTICALL_CALLS_MAX,
      suspectCallsMax: settings.SUSPECT_CALLS_MAX,
    });
    const told = new Set<Address>();
    const reader: FactReader | undefined =
      protocol === ZERO_ADDRESS
        ? undefined
        : {
            state: stateReader,
            protocol,
            onUnreadable: (token, what, block) => {
              meters.unreadable(what);
              if (told.has(token) || told.size >= TOLD_TOKENS_MAX) return;
              told.add(token);
              logger.warn({ token, what, block: block.number }, 'a token cannot be read: it counts as zero, told once');
            },
          };
    if (reader === undefined) {
      logger.warn({}, 'LIMIT_ORDER_PROTOCOL_ADDRESS is zero: nothing can be read, and orders stay VALIDATING');
    }
    const polled = pollBlocks({
      node,
      withLogs: reader !== undefined,
      pollIntervalMs: settings.POLL_INTERVAL_MS,
      nowMs,
      wait,
      silenceMsMax: settings.NODE_SILENCE_MS_MAX,
      onLag: (lag) => logger.warn(lag, 'a node lags behind another one: it is asked last for some seconds'),
      wsUrl: settings.RPC_WS_URL === '' ? undefined : settings.RPC_WS_URL,
      onSubscriptionBroken: (reason) => {
        meters.subscriptionBroken();
        logger.warn({ reason }, 'new blocks are not announced any more: polling goes on');
      },
    });
    let blocks: BlockSource = polled;
    if (settings.KAIA_TOPIC !== '') {
      const brokers = settings.KAIA_KAFKA_BROKERS.length > 0 ? settings.KAIA_KAFKA_BROKERS : settings.KAFKA_BROKERS;
      const kaiaLog = connectLog({ ...kafkaConnection(settings), brokers, clientId: 'chain-watcher', logger });
      closing.push(() => kaiaLog.close());
      try {
        await kaiaLog.partitionsOf(settings.KAIA_TOPIC, { timeoutMs: KAIA_ANSWER_MS_MAX });
      } catch (error) {
        if (!(error instanceof LogUnavailable)) throw error;
        const reason = error.message;
        logger.warn({ reason }, 'the Kafka of the Kaia node is away: JSON-RPC gives all blocks until it is there');
      }
      blocks = followBlockgroups({
        log: kaiaLog,
        topic: settings.KAIA_TOPIC,
        gaps: polled,
        logger,
        nowMs,
        wait,
        gapMsMax: settings.KAIA_GAP_MS_MAX,
        silenceMsMax: settings.KAIA_SILENCE_MS_MAX,
        blocksMax: KAIA_BLOCKS_MAX,
        onGap: () => meters.gapFilled(),
      });
    }
    const source = watchHead(blocks, { node, nowMs, wait, signal });
    closing.push(() => source.stop());

    let saidAtMs = 0;
    const work = wireWork({
      log,
      appender,
      topics: names,
      node,
      source,
      reader,
      state,
      sweep,
      settings,
      logger,
      signal,
      nowMs,
      wait,
      retryFor,
      onFatal,
      onBlock: ({ number }, facts, tookMs) => {
        meters.blockProcessed(facts, tookMs);
        logger.debug({ block: number, facts, tookMs }, 'block processed');
      },
      onCatchUp: (progress) => {
        lastTurnAtMs = nowMs();
        if (lastTurnAtMs - saidAtMs < PROGRESS_LINE_MS) return;
        saidAtMs = lastTurnAtMs;
        logger.info({ ...progress, head: state.matched?.number }, 'catching up');
      },
    });
    const { watched, followed, orders } = work;
    closing.push(() => followed.stop());

    const signs = (): Signs => ({
      nowMs: nowMs(),
      startedAtMs,
      state,
      headNumber: source.headNumber(),
      lastTurnAtMs,
      lastPollAtMs: followed.lastPollAtMs(),
      awaitedPartitions: followed.awaited(),
      failures: [...failures].map(([who, reason]) => `${who}: ${reason}`),
      halt: halt?.message,
      logRecords: followed.counts().records,
    });
    const isSweeping = reader !== undefined && settings.SWEEP_PAIRS_PER_SECOND > 0;
    meters.observe({
      nowMs,
      startedAtMs,
      partitions,
      state,
      sweep: isSweeping ? sweep : undefined,
      headNumber: () => source.headNumber(),
      isSubscribed: () => polled.isSubscribed(),
      lastTurnAtMs: () => lastTurnAtMs,
      awaitedPartitions: () => followed.awaited(),
      rpc: () => node.counts(),
      suspects: () => stateReader.suspects().size,
      unreadOrders: () => orders?.waiting() ?? 0,
      oldestUnreadAtMs: () => orders?.oldestAtMs(),
      logRecords: () => followed.counts(),
      sizes: () => watched.sizes(),
    });
    ops = await serveOps({
      host: settings.HOST,
      port: settings.OPS_PORT,
      live: () => judgeLiveness(signs(), settings.LIVE_SILENCE_MS_MAX),
      ready: () => judgeReadiness(signs(), settings.READY_LAG_SECONDS_MAX),
      serveMetrics,
    });

    const watch = async () => {
      await Promise.race([followed.caughtUp, aborted(signal)]);
      state.phase = 'CATCHING_UP';
      noteTurn('blocks');
      await retryBlocks(() => verifyChain(node, settings, reader !== undefined));
      logger.info({ ...watched.sizes(), records: followed.counts().records }, 'the log is read');
      await work.watch();
    };
    const working = Promise.all([watch(), work.sweep()].map((each) => each.catch(onFatal)));
    closing.push(async () => {
      await working;
    });
    const failed = ended.then(async (error) => {
      if (halt === undefined) return error;
      // What was under way is not published any more; `stop` says what could not be closed.
      void Promise.allSettled([appender.close(), closeWork()]);
      await waitFor(settings.HALT_LINGER_MS, leaving.signal);
      return error;
    });
    return { opsPort: ops.port, failed, state, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function closeInTurn(closing: readonly (() => Promise<void> | void)[]): Promise<void> {
  for (const close of closing.toReversed()) await close();
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

function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** At the start: nothing is published meanwhile, and JSON-RPC has the blocks. */
const KAIA_ANSWER_MS_MAX = 3000;
/** Held while earlier ones are missing; those beyond are asked of JSON-RPC when they are due. */
const KAIA_BLOCKS_MAX = 500;
const TOLD_TOKENS_MAX = 10_000;
const PROGRESS_LINE_MS = 2000;
