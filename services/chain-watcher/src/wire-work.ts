import type { Node } from '@makerbook/chain';
import type { TopicNames } from '@makerbook/contracts-events';
import type { Appender, Log, Logger } from '@makerbook/kafka';
import type { BlockSource } from './block-source.js';
import type { WatcherSettings } from './env.js';
import { type FollowedLog, followLog } from './follow-log.js';
import type { WatcherState, WatchOptions } from './keep-position.js';
import { ReadPoint } from './keep-read-point.js';
import { WatchedSet } from './keep-watched-set.js';
import { createFactPublisher } from './publish-facts.js';
import type { FactReader } from './read-facts.js';
import { createNewOrderReader, type NewOrderReader } from './read-new-orders.js';
import { type SweepState, sweepPairs } from './sweep-pairs.js';
import { Turns } from './take-turns.js';
import { watchBlocks } from './watch-blocks.js';

/** What reads the chain on its own: each fails and is tried again by itself. */
export type Reader = 'orders' | 'blocks' | 'sweep';

/** What the process brings: log, node, a clock, and what is to be done about failures. */
export interface WorkParts extends Pick<WatchOptions, 'onBlock' | 'onCatchUp' | 'nowMs' | 'signal'> {
  readonly log: Log;
  readonly appender: Appender;
  readonly topics: TopicNames;
  readonly node: Node;
  readonly source: BlockSource;
  /** Undefined where nothing can be read from the chain. */
  readonly reader: FactReader | undefined;
  readonly state: WatcherState;
  readonly sweep: SweepState;
  readonly settings: Pick<
    WatcherSettings,
    'PARTITIONS' | 'STATE_BLOCKS_MAX' | 'CATCH_UP_BLOCKS_MAX' | 'ORDER_GATHER_MS' | 'SWEEP_PAIRS_PER_SECOND'
  >;
  /** Facts in one record batch; left out, as the publisher has it. */
  readonly batchFactsMax?: number | undefined;
  readonly logger: Logger;
  readonly wait: (ms: number) => Promise<void>;
  readonly retryFor: (who: Reader) => <T>(work: () => Promise<T>) => Promise<T>;
  readonly onFatal: (error: Error) => void;
}

/** What makes facts of the chain. The log is followed, and new orders are read, from the start. */
export interface Work {
  readonly watched: WatchedSet;
  readonly followed: FollowedLog;
  readonly orders: NewOrderReader | undefined;
  /** To be called once the log is read. */
  watch(): Promise<void>;
  sweep(): Promise<void>;
}

/** Puts together what works on the chain and the log, whatever stands behind either. */
export function wireWork(parts: WorkParts): Work {
  const { log, appender, topics, node, source, reader, state, settings, signal, nowMs, wait, retryFor, onFatal } =
    parts;
  const partitions = settings.PARTITIONS;
  const { batchFactsMax } = parts;
  const publisher = createFactPublisher({ appender, topic: topics.makerEvents, partitions, batchFactsMax });
  const watched = new WatchedSet(partitions);
  const readPoint = new ReadPoint({ node, nowMs, stateBlocksMax: settings.STATE_BLOCKS_MAX });
  const turns = new Turns();
  const orders =
    reader &&
    createNewOrderReader({
      watched,
      reader,
      publisher,
      readPoint,
      turns,
      processedBlock: () => state.processed?.number ?? -1,
      gatherMs: settings.ORDER_GATHER_MS,
      nowMs,
      wait,
      retry: retryFor('orders'),
      onFatal,
    });
  const followed = followLog({
    log,
    topics,
    partitions,
    watched,
    logger: parts.logger,
    onCaughtUp: () => orders?.add(watched.unreadOrders().map((order) => ({ order, traceparent: undefined }))),
    onOpened: (opened) => orders?.add(opened),
    onFatal,
  });
  return {
    watched,
    followed,
    orders,
    watch: () =>
      watchBlocks({
        node,
        source,
        watched,
        log: followed,
        publisher,
        reader,
        orders,
        partitions,
        readPoint,
        turns,
        state,
        signal,
        nowMs,
        retry: retryFor('blocks'),
        onBlock: parts.onBlock,
        onCatchUp: parts.onCatchUp,
        catchUpBlocksMax: settings.CATCH_UP_BLOCKS_MAX,
      }),
    sweep: async () => {
      if (reader === undefined) return;
      await sweepPairs({
        watched,
        reader,
        publisher,
        readPoint,
        turns,
        processedBlock: () => (state.phase === 'FOLLOWING' ? state.processed?.number : undefined),
        pairsPerSecond: settings.SWEEP_PAIRS_PER_SECOND,
        state: parts.sweep,
        signal,
        nowMs,
        wait,
        retry: retryFor('sweep'),
      });
    },
  };
}
