import { connectLog, LogUnavailable } from '@makerbook/kafka';
import { kafkaConnection } from '@makerbook/settings';
import type { WatcherSettings } from '../env.js';
import { type BlockgroupOptions, Blockgroups } from './follow-blockgroups.js';
import { type PolledBlocks, type PollOptions, pollBlocks } from './poll-blocks.js';
import type { BlockSource } from './source.js';
import { type WatchHeadOptions, watchHead } from './watch-head.js';

export interface SourceOptions
  extends Pick<PollOptions, 'node' | 'withLogs' | 'nowMs' | 'wait'>,
    Pick<WatchHeadOptions, 'signal' | 'onFatal'>,
    Pick<BlockgroupOptions, 'logger' | 'onGap'> {
  readonly settings: WatcherSettings;
  readonly onSubscriptionBroken: () => void;
}

/** The source that the settings name: JSON-RPC, or the topic of a Kaia node with JSON-RPC behind it. */
export async function openSource(
  options: SourceOptions,
): Promise<{ readonly source: BlockSource; readonly polled: PolledBlocks; readonly stop: () => Promise<void> }> {
  const { settings, node, withLogs, logger, nowMs, wait, signal } = options;
  const intervalMs = settings.POLL_INTERVAL_MS;
  const polled = pollBlocks({
    node,
    withLogs,
    pollIntervalMs: intervalMs,
    nowMs,
    wait,
    silenceMsMax: settings.NODE_SILENCE_MS_MAX,
    onLag: (lag) => logger.warn(lag, 'a node lags behind another one: it is asked last for some seconds'),
    wsUrl: settings.RPC_WS_URL === '' ? undefined : settings.RPC_WS_URL,
    onSubscriptionBroken: (reason) => {
      options.onSubscriptionBroken();
      logger.warn({ reason }, 'new blocks are not announced any more: polling goes on');
    },
  });
  const { blocks, close } =
    settings.KAIA_TOPIC === '' ? { blocks: polled, close: undefined } : await openTopic(options, polled);
  const source = watchHead(blocks, { node, nowMs, wait, signal, intervalMs, onFatal: options.onFatal });
  const stop = async () => {
    await source.stop();
    await close?.();
  };
  return { source, polled, stop };
}

/** The Kafka of the Kaia node may be away, now and later. */
async function openTopic(
  { settings, logger, nowMs, wait, onGap }: SourceOptions,
  gaps: BlockSource,
): Promise<{ readonly blocks: BlockSource; readonly close: () => Promise<void> }> {
  const brokers = settings.KAIA_KAFKA_BROKERS.length > 0 ? settings.KAIA_KAFKA_BROKERS : settings.KAFKA_BROKERS;
  const log = connectLog({ ...kafkaConnection(settings), brokers, clientId: 'chain-watcher', logger });
  try {
    await log.partitionsOf(settings.KAIA_TOPIC, { timeoutMs: KAIA_ANSWER_MS_MAX });
  } catch (error) {
    if (!(error instanceof LogUnavailable)) {
      await log.close();
      throw error;
    }
    const reason = error.message;
    logger.warn({ reason }, 'the Kafka of the Kaia node is away: JSON-RPC gives all blocks until it is there');
  }
  const blocks = new Blockgroups({
    log,
    topic: settings.KAIA_TOPIC,
    gaps,
    logger,
    nowMs,
    wait,
    gapMsMax: settings.KAIA_GAP_MS_MAX,
    silenceMsMax: settings.KAIA_SILENCE_MS_MAX,
    blocksMax: KAIA_BLOCKS_MAX,
    onGap,
  });
  return { blocks, close: () => log.close() };
}

/** Runs at the start, when nothing is published yet and JSON-RPC has the blocks. */
const KAIA_ANSWER_MS_MAX = 3000;
/** Held while earlier ones are missing; those beyond are asked of JSON-RPC when they are due. */
const KAIA_BLOCKS_MAX = 500;
