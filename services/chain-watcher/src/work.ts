import type { TopicNames } from '@makerbook/contracts-events';
import type { Appender, Following, Log, Logger } from '@makerbook/kafka';
import { type LeadOptions, type LeadState, lead } from './lead.js';
import { Mutex } from './mutex.js';
import { ReadingBlocks } from './observe/choose-block.js';
import { readNewOrders } from './observe/read-new-orders.js';
import { sweepPairs } from './observe/sweep-pairs.js';
import type { Position, SweepState, TermWork, Worker, WorkSettings } from './observe/term-work.js';
import { watchBlocks } from './observe/watch-blocks.js';
import { createFactPublisher, type FactPublisher } from './publish/publish-observed.js';
import { isRetryable } from './retry.js';
import { aborted } from './wait.js';
import { followBook } from './watch/follow-book.js';
import { FollowedLog, LogContradiction, type PartitionStart } from './watch/follow-log.js';
import { type WatchedOrder, WatchedSet } from './watch/watched-set.js';

/** Where the watcher is; read by metrics and health. */
export interface WatcherState {
  /** False until the snapshot and the log are read. */
  hasReadLog: boolean;
  readonly lead: LeadState;
  /** Of the own term; undefined while another watcher holds one. */
  position: Position | undefined;
  readonly sweep: SweepState;
}

/** An order of the snapshot. */
export interface OpenOrder extends WatchedOrder {
  /** Whether a reading in the log names it. */
  readonly isObserved: boolean;
}

/** What the process provides: log, node, a clock, and what is to be done about failures. */
export interface WorkParts
  extends Pick<LeadOptions, 'holder' | 'onRole'>,
    Pick<TermWork, 'node' | 'source' | 'reader' | 'onBlock' | 'onCatchUp' | 'nowMs'> {
  /** Milliseconds since 1970: what is published has its time by it. Nothing else is. */
  readonly unixMs: () => number;
  readonly log: Log;
  readonly appender: Appender;
  readonly topics: TopicNames;
  readonly settings: WorkSettings;
  /** Reads the open orders of a snapshot of the projection; returns from where on each partition of the log is to be read. */
  readonly loadOrders: (onOrders: (orders: readonly OpenOrder[]) => void) => Promise<readonly PartitionStart[]>;
  /** Called once the log is read: throws ChainContradiction where a node is of another chain. */
  readonly verifyChain: () => Promise<void>;
  /** Records in one record batch; left out, as the publisher has it. */
  readonly batchRecordsMax?: number | undefined;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly retryFor: (worker: Worker, signal: AbortSignal) => <T>(work: () => Promise<T>) => Promise<T>;
  readonly onFailure: (worker: Worker, error: Error) => void;
  readonly onFatal: (error: Error) => void;
}

/** The watcher without its process: what it follows, and what it publishes. */
export class Work {
  readonly state: WatcherState = {
    hasReadLog: false,
    lead: { role: 'STANDBY', awaited: [] },
    position: undefined,
    sweep: { endedAtMs: undefined, tookMs: undefined, pairs: 0, facts: 0 },
  };
  readonly watched = new WatchedSet();
  readonly followed: FollowedLog;
  private readonly parts: WorkParts;
  private readonly publisher: FactPublisher;
  private book: Following | undefined;

  constructor(parts: WorkParts) {
    this.parts = parts;
    const { log, appender, topics, logger, nowMs, unixMs, onFatal, batchRecordsMax, settings } = parts;
    const partitions = settings.PARTITIONS;
    this.publisher = createFactPublisher({
      appender,
      topic: topics.makerEvents,
      partitions,
      nowMs: unixMs,
      batchRecordsMax,
    });
    this.followed = new FollowedLog({
      log,
      topics,
      partitions,
      watched: this.watched,
      logger,
      nowMs,
      onFatal,
    });
  }

  /** Reads what is open, follows the log, and takes part in the election until the signal is aborted. */
  async run(): Promise<void> {
    const { signal, nowMs, wait, retryFor, onFailure, verifyChain } = this.parts;
    const retry = retryFor('blocks', signal);
    await Promise.race([this.start(), aborted(signal)]);
    if (signal.aborted) return;
    this.state.hasReadLog = true;
    await retry(verifyChain);
    await lead({
      ...this.parts,
      followed: this.followed,
      publisher: this.publisher,
      state: this.state.lead,
      headNumber: () => this.parts.source.headNumber(),
      takeoverMs: this.parts.settings.TAKEOVER_MS,
      nowMs,
      wait: (ms) => wait(ms, signal),
      retry,
      onFailure: (error) => onFailure('blocks', error),
      work: (term, termSignal) => this.workOnTerm(term, termSignal),
    });
  }

  async stop(): Promise<void> {
    await this.book?.stop();
    await this.followed.stop();
  }

  private async start(): Promise<void> {
    const { log, topics, loadOrders, retryFor, signal, onFatal, logger } = this.parts;
    const retry = retryFor('blocks', signal);
    const timeoutMs = END_OFFSETS_MS_MAX;
    const ends = await retry(() => log.endOffsets(topics.book, { timeoutMs }));
    const starts = await retry(() => loadOrders((orders) => this.addOrders(orders)));
    logger.info({ ...this.watched.sizes() }, 'the open orders are read');
    const logEnds = await retry(() => log.endOffsets(topics.makerEvents, { timeoutMs }));
    const beyond = starts.findIndex(({ nextOffset }, partition) => nextOffset > (logEnds[partition] ?? 0n));
    if (beyond >= 0) {
      throw new LogContradiction(
        `the projection has read partition ${beyond} of ${topics.makerEvents} up to offset ${starts[beyond]?.nextOffset}, but it ends at ${logEnds[beyond]}: it belongs to another log`,
      );
    }
    await this.followed.start(starts);
    this.book = followBook({ log, topics, watched: this.watched, followed: this.followed, ends, signal, onFatal });
    logger.info({ ...this.watched.sizes(), records: this.followed.counts().records }, 'the log is read');
  }

  private addOrders(orders: readonly OpenOrder[]): void {
    const unread = { sinceMs: this.parts.nowMs(), trace: undefined };
    for (const order of orders) this.watched.add(order, order.isObserved ? undefined : unread);
  }

  private async workOnTerm(term: number, signal: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const work = this.openTerm(term, AbortSignal.any([signal, failed.signal]));
    const { reader } = work;
    this.state.position = work.position;
    const loops = [watchBlocks(work), ...(reader === undefined ? [] : [readNewOrders(work), sweepPairs(work, reader)])];
    for (const loop of loops) loop.catch(() => failed.abort());
    // All of them, so that nothing of this term is appended behind its end.
    const errors = (await Promise.allSettled(loops)).flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
    this.state.position = undefined;
    const [error] = [...errors.filter((each) => !isRetryable(each)), ...errors];
    if (error !== undefined) throw error;
  }

  private openTerm(term: number, signal: AbortSignal): TermWork {
    const { parts, watched, followed, publisher } = this;
    const { node, source, settings, wait, retryFor } = parts;
    return {
      ...parts,
      term,
      signal,
      watched,
      followed,
      publisher,
      partitions: settings.PARTITIONS,
      position: { phase: 'CATCHING_UP', matched: undefined, processed: undefined, catchUp: undefined },
      sweep: this.state.sweep,
      readingBlocks: new ReadingBlocks({
        node,
        stateBlocksMax: settings.STATE_BLOCKS_MAX,
        headNumber: () => source.headNumber(),
        newestRead: () => followed.newestRead(),
      }),
      mutex: new Mutex(),
      wait: (ms) => wait(ms, signal),
      retryFor: (worker) => retryFor(worker, signal),
    };
  }
}

const END_OFFSETS_MS_MAX = 5000;
