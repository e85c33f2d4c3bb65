import type { BlockHeader, Node } from '@makerbook/chain';
import type { BlockRef, TopicNames } from '@makerbook/contracts-events';
import type { MonotonicMs } from '@makerbook/contracts-primitives';
import type { BlockSource } from '../blocks/source.js';
import type { WatcherSettings } from '../env.js';
import type { Mutex } from '../mutex.js';
import type { FactPublisher } from '../publish/publish-observed.js';
import type { FollowedLog } from '../watch/follow-log.js';
import type { WatchedSet } from '../watch/watched-set.js';
import type { ReadingBlocks } from './choose-block.js';
import type { MakerReader } from './read-makers.js';

/** The loops of the holder. Each fails and is retried on its own. */
export type Worker = 'orders' | 'blocks' | 'sweep' | 'wallets';

/** How far the holder has come since it took over. */
export interface Position {
  phase: 'CATCHING_UP' | 'FOLLOWING';
  /** The newest block whose logs were matched with the watched set. */
  matched: BlockHeader | undefined;
  /** The newest block that is published to every partition. */
  processed: BlockRef | undefined;
  catchUp: CatchUpProgress | undefined;
}

/**
 * The progress of a step of catching up. First the logs of missed blocks are read, then the watched makers. If that
 * would cost more, the missed blocks are followed one by one instead.
 */
export interface CatchUpProgress {
  readonly step: 'blocks' | 'makers' | 'followed';
  readonly done: number;
  readonly total: number;
}

/** The progress of the sweep, for metrics. */
export interface SweepState {
  /** When the current sweep over all pairs began: at the take-over, or when the last sweep ended. */
  startedAtMs: number | undefined;
  /** How long the last sweep took; undefined before the first. */
  tookMs: number | undefined;
  /** Pairs read by the sweep since the start, and records of changes that no log had shown. */
  pairs: number;
  facts: number;
}

/** The settings that bound the work. */
export type WorkSettings = Pick<
  WatcherSettings,
  | 'PARTITIONS'
  | 'STATE_BLOCKS_MAX'
  | 'CATCH_UP_BLOCKS_MAX'
  | 'ORDER_GATHER_MS'
  | 'SWEEP_PAIRS_PER_SECOND'
  | 'TAKEOVER_MS'
  | 'BLOCK_AHEAD_SECONDS_MAX'
>;

/** The parts that the holder works with: all of them, or those that a function names. */
export type Holder<K extends keyof HolderParts = keyof HolderParts> = Pick<HolderParts, K>;

interface HolderParts {
  /** Aborted when another watcher has taken over, or the process ends. */
  readonly signal: AbortSignal;
  readonly node: Node;
  readonly source: BlockSource;
  /** Undefined if the protocol's address is unknown: then nothing is read, and only blocks are published. */
  readonly reader: MakerReader | undefined;
  readonly watched: WatchedSet;
  readonly followed: FollowedLog;
  readonly publisher: FactPublisher;
  readonly topics: TopicNames;
  readonly partitions: number;
  readonly settings: WorkSettings;
  readonly position: Position;
  readonly sweep: SweepState;
  readonly readingBlocks: ReadingBlocks;
  /** Held while makers are read and published, so that the log has the readings in the order they were made. */
  readonly mutex: Mutex;
  readonly monotonicMs: () => MonotonicMs;
  /** Resolves after so many milliseconds, or at once when the signal is aborted. */
  readonly wait: (ms: number) => Promise<void>;
  readonly retryFor: (worker: Worker) => <T>(work: () => Promise<T>) => Promise<T>;
  /** @param tookMs from seeing the block to the acknowledgement of its facts; undefined after a catch-up */
  readonly onBlock: (block: BlockRef, facts: number, tookMs: number | undefined) => void;
  /** Called before each request for missed logs, and after each page of makers. */
  readonly onCatchUp: (progress: CatchUpProgress) => void;
}
