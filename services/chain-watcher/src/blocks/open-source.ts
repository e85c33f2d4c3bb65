import { subscribeHeads } from '@makerbook/chain';
import { connectLog, type Logger, LogUnavailable } from '@makerbook/kafka';
import { kafkaConnection } from '@makerbook/settings';
import type { WatcherSettings } from '../env.js';
import { followBlockgroups } from './follow-blockgroups.js';
import { PendingBlocks } from './pending-blocks.js';
import type { BlockSource } from './source.js';
import { TakenBlocks, type TakeOptions, type TopicOptions } from './take-blocks.js';

/** How long the topic's brokers may take to answer at the start, when JSON-RPC has the blocks. */
const KAIA_ANSWER_MS_MAX = 3000;
/** Blocks of the topic that are kept while earlier ones are missing. JSON-RPC gives those beyond when they are due. */
const KAIA_BLOCKS_MAX = 500;

export interface SourceOptions
  extends Pick<TakeOptions, 'node' | 'withLogs' | 'monotonicMs' | 'wait' | 'signal' | 'onFatal'>,
    Pick<TopicOptions, 'onGap'> {
  readonly settings: WatcherSettings;
  readonly logger: Logger;
  readonly onSubscriptionBroken: () => void;
  /** Takes what closes the source. */
  readonly onStop: (close: () => Promise<void>) => void;
}

/** The source of blocks with all that the settings name: JSON-RPC, a node's announcements, the topic of a Kaia node. */
export async function openSource(options: SourceOptions): Promise<BlockSource> {
  const { settings, logger, onSubscriptionBroken, onStop } = options;
  const { RPC_WS_URL: wsUrl } = settings;
  const topic = settings.KAIA_TOPIC === '' ? undefined : await openTopic(options);
  const onBroken = (reason: string) => {
    onSubscriptionBroken();
    logger.warn({ reason }, 'new blocks are not announced any more: polling goes on');
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

/** The Kafka of the Kaia node may be away, now and later. */
async function openTopic({ settings, logger, monotonicMs, onGap, onStop }: SourceOptions): Promise<TopicOptions> {
  const { KAIA_TOPIC: name, KAIA_KAFKA_BROKERS: own } = settings;
  const brokers = own.length > 0 ? own : settings.KAFKA_BROKERS;
  const log = connectLog({ ...kafkaConnection(settings), brokers, clientId: 'chain-watcher', logger });
  onStop(() => log.close());
  await log.partitionsOf(name, { timeoutMs: KAIA_ANSWER_MS_MAX }).catch((error) => {
    if (!(error instanceof LogUnavailable)) throw error;
    logger.warn(
      { reason: error.message },
      'the Kafka of the Kaia node is away: JSON-RPC gives all blocks until it is there',
    );
  });
  const pending = new PendingBlocks({ blocksMax: KAIA_BLOCKS_MAX, monotonicMs });
  followBlockgroups({ log, topic: name, logger, pending });
  return { name, pending, onGap, gapMsMax: settings.KAIA_GAP_MS_MAX, silenceMsMax: settings.KAIA_SILENCE_MS_MAX };
}
