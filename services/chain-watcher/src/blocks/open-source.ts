import { subscribeHeads } from '@makerbook/chain';
import { connectLog, type Logger, LogUnavailable } from '@makerbook/kafka';
import { kafkaConnection } from '@makerbook/settings';
import type { WatcherSettings } from '../env.js';
import { followBlockgroups } from './follow-blockgroups.js';
import { PendingBlocks } from './pending-blocks.js';
import type { BlockSource } from './source.js';
import { TakenBlocks, type TakeOptions, type TopicOptions } from './take-blocks.js';

/** How long the start waits for the topic's brokers. Without them JSON-RPC gives the blocks. */
const KAIA_ANSWER_MS_MAX = 3000;
/** How many blocks of the topic are kept while earlier ones are missing. JSON-RPC gives the rest when they are due. */
const KAIA_BLOCKS_MAX = 500;

export interface SourceOptions
  extends Pick<TakeOptions, 'node' | 'withLogs' | 'monotonicMs' | 'wait' | 'signal' | 'onFatal'>,
    Pick<TopicOptions, 'onGap'> {
  readonly settings: WatcherSettings;
  readonly logger: Logger;
  readonly onSubscriptionBroken: () => void;
  /** Registers a function that closes a part of the source. */
  readonly onStop: (close: () => Promise<void>) => void;
}

/**
 * Opens the source of blocks with all inputs in the settings: JSON-RPC, a node's announcements, a Kaia node's topic.
 */
export async function openSource(options: SourceOptions): Promise<BlockSource> {
  const { settings, logger, onSubscriptionBroken, onStop } = options;
  const { RPC_WS_URL: wsUrl } = settings;
  const topic = settings.KAIA_TOPIC === '' ? undefined : await openTopic(options);
  const onBroken = (reason: string) => {
    onSubscriptionBroken();
    logger.warn({ reason }, 'new blocks are not announced any more: polling continues');
  };
  const source = new TakenBlocks({
    ...options,
    topic,
    pollIntervalMs: settings.POLL_INTERVAL_MS,
    nodeSilenceMsMax: settings.NODE_SILENCE_MS_MAX,
    onLag: (lag) => logger.warn(lag, 'a node lags behind another one: it is asked last for some seconds'),
    subscribe: wsUrl === '' ? undefined : (onHead) => subscribeHeads({ url: wsUrl, onHead, onBroken }),
  });
  onStop(() => source.stop());
  return source;
}

/** The Kaia node's Kafka may be down, now or later. */
async function openTopic({ settings, logger, monotonicMs, onGap, onStop }: SourceOptions): Promise<TopicOptions> {
  const { KAIA_TOPIC: name, KAIA_KAFKA_BROKERS: own } = settings;
  const brokers = own.length > 0 ? own : settings.KAFKA_BROKERS;
  const log = connectLog({ ...kafkaConnection(settings), brokers, clientId: 'chain-watcher', logger });
  onStop(() => log.close());
  await log.partitionsOf(name, { timeoutMs: KAIA_ANSWER_MS_MAX }).catch((error) => {
    if (!(error instanceof LogUnavailable)) throw error;
    logger.warn(
      { reason: error.message },
      'the Kafka of the Kaia node is down: JSON-RPC gives all blocks until it is back',
    );
  });
  const pending = new PendingBlocks({ blocksMax: KAIA_BLOCKS_MAX, monotonicMs });
  followBlockgroups({ log, topic: name, logger, pending });
  return { name, pending, onGap, gapMsMax: settings.KAIA_GAP_MS_MAX, silenceMsMax: settings.KAIA_SILENCE_MS_MAX };
}
