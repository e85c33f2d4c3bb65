import { subscribeHeads } from '@makerbook/chain';
import { connectLog, LogUnavailable } from '@makerbook/kafka';
import { kafkaConnection } from '@makerbook/settings';
import type { Logger } from '@makerbook/telemetry';
import type { WatcherSettings } from '../env.js';
import { followBlockgroups } from './follow-blockgroups.js';
import { HeldBlocks } from './held-blocks.js';
import type { BlockSource } from './source.js';
import { TakenBlocks, type TakeOptions, type TopicOptions } from './take-blocks.js';
import { type WatchHeadOptions, watchHead } from './watch-head.js';

/** How long the topic's brokers may take to answer at the start, when JSON-RPC has the blocks. */
const KAIA_ANSWER_MS_MAX = 3000;
/** Blocks of the topic held while earlier ones are missing; those beyond are read by JSON-RPC when they are due. */
const KAIA_BLOCKS_MAX = 500;

export interface SourceOptions
  extends Pick<TakeOptions, 'node' | 'withLogs' | 'nowMs' | 'wait'>,
    Pick<WatchHeadOptions, 'signal' | 'onFatal'>,
    Pick<TopicOptions, 'onGap'> {
  readonly settings: WatcherSettings;
  readonly logger: Logger;
  readonly onSubscriptionBroken: () => void;
}

/** The source of blocks with all that the settings name: JSON-RPC, a node's announcements, the topic of a Kaia node. */
export async function openSource(options: SourceOptions): Promise<BlockSource> {
  const { settings, logger, onSubscriptionBroken } = options;
  const { RPC_WS_URL: wsUrl, POLL_INTERVAL_MS: intervalMs } = settings;
  const topic = settings.KAIA_TOPIC === '' ? undefined : await openTopic(options);
  const onBroken = (reason: string) => {
    onSubscriptionBroken();
    logger.warn({ reason }, 'new blocks are not announced any more: polling goes on');
  };
  const blocks = new TakenBlocks({
    ...options,
    pollIntervalMs: intervalMs,
    nodeSilenceMsMax: settings.NODE_SILENCE_MS_MAX,
    onLag: (lag) => logger.warn(lag, 'a node lags behind another one: it is asked last for some seconds'),
    subscribe: wsUrl === '' ? undefined : (onHead) => subscribeHeads({ url: wsUrl, onHead, onBroken }),
    topic: topic?.options,
  });
  const source = watchHead(blocks, { ...options, intervalMs });
  return {
    ...source,
    stop: async () => {
      await source.stop();
      await topic?.close();
    },
  };
}

/** The Kafka of the Kaia node may be away, now and later. */
async function openTopic({ settings, logger, nowMs, onGap }: SourceOptions) {
  const brokers = settings.KAIA_KAFKA_BROKERS.length > 0 ? settings.KAIA_KAFKA_BROKERS : settings.KAFKA_BROKERS;
  const topic = settings.KAIA_TOPIC;
  const log = connectLog({ ...kafkaConnection(settings), brokers, clientId: 'chain-watcher', logger });
  try {
    await log.partitionsOf(topic, { timeoutMs: KAIA_ANSWER_MS_MAX });
  } catch (error) {
    if (!(error instanceof LogUnavailable)) {
      await log.close();
      throw error;
    }
    const reason = error.message;
    logger.warn({ reason }, 'the Kafka of the Kaia node is away: JSON-RPC gives all blocks until it is there');
  }
  const held = new HeldBlocks({ blocksMax: KAIA_BLOCKS_MAX, nowMs });
  const following = followBlockgroups({ log, topic, logger, held });
  const options: TopicOptions = {
    name: topic,
    held,
    gapMsMax: settings.KAIA_GAP_MS_MAX,
    silenceMsMax: settings.KAIA_SILENCE_MS_MAX,
    onGap,
  };
  const close = async () => {
    await following.stop();
    await log.close();
  };
  return { options, close };
}
