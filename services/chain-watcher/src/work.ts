import { once } from 'node:events';
import type { UnixMs } from '@makerbook/contracts-primitives';
import { type FencedPublisher, type Following, type Log, type Logger, PublisherFenced } from '@makerbook/kafka';
import { lead } from './lead.js';
import { Mutex } from './mutex.js';
import { askWallets } from './observe/ask-wallets.js';
import { ReadingBlocks } from './observe/choose-block.js';
import type { Holder, Position, SweepState, Worker } from './observe/holder.js';
import { readNewOrders } from './observe/read-new-orders.js';
import { refuseAhead } from './observe/refuse-ahead.js';
import { sweepPairs } from './observe/sweep-pairs.js';
import { watchBlocks } from './observe/watch-blocks.js';
import { FactPublisher } from './publish/publish-observed.js';
import { isRetryable } from './retry.js';
import type { OpenOrderRow } from './store/read-open-orders.js';
import { followBook } from './watch/follow-book.js';
import { FollowedLog, LogContradiction } from './watch/follow-log.js';
import { type ForgetEndedParts, forgetEnded } from './watch/forget-ended.js';
import { WatchedSet } from './watch/watched-set.js';

const END_OFFSETS_MS_MAX = 5000;

/** The holder is the one watcher that publishes. */
export type Role = 'STANDBY' | 'TAKING_OVER' | 'HOLDER';

/** The state of the watcher, for metrics and health. */
export interface WatcherState {
  /** False until the snapshot and the log are read. */
  hasReadLog: boolean;
  role: Role;
  /** Partitions that are not yet read up to this watcher's take-over. */
  awaited: readonly number[];
  /** The holder's position; undefined while another watcher is the holder. */
  position: Position | undefined;
  readonly sweep: SweepState;
}

type ProcessParts = 'node' | 'source' | 'reader' | 'topics' | 'settings' | 'onBlock' | 'onCatchUp' | 'monotonicMs';

/** The parts that the process provides: log, node, clock, and the handling of failures. */
export interface WorkParts extends Holder<ProcessParts>, Pick<ForgetEndedParts, 'loadOrders' | 'moreOrdersMin'> {
  /** Milliseconds since 1970. Block timestamps are compared with it. */
  readonly unixMs: () => UnixMs;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly log: Pick<Log, 'endOffsets' | 'followTopic'>;
  /** Opens the publisher that all watchers share, for all partitions of the log. */
  readonly openPublisher: () => FencedPublisher;
  /** Called once the log is read. Throws ChainContradiction if a node is of another chain. */
  readonly verifyChain: () => Promise<void>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly retryFor: (worker: Worker, signal: AbortSignal) => <T>(work: () => Promise<T>) => Promise<T>;
  readonly onRole: (role: Role) => void;
  readonly onFatal: (error: Error) => void;
}

/** The watcher without its process: what it follows, and what it publishes. */
export class Work {
  readonly state: WatcherState = {
    hasReadLog: false,
    role: 'STANDBY',
    awaited: [],
    position: undefined,
    sweep: { startedAtMs: undefined, tookMs: undefined, pairs: 0, facts: 0 },
  };
  readonly watched = new WatchedSet();
  readonly followed: FollowedLog;
  readonly #parts: WorkParts;
  #book: Following | undefined;

  constructor(parts: WorkParts) {
    this.#parts = parts;
    this.followed = new FollowedLog({ ...parts, partitions: parts.settings.PARTITIONS, watched: this.watched });
  }

  /**
   * Reads the open orders, follows the log, and publishes whenever it is this watcher's turn, until the signal is
   * aborted.
   */
  async run(): Promise<void> {
    const { signal, retryFor, verifyChain } = this.#parts;
    await Promise.race([this.#start(), once(signal, 'abort')]);
    if (signal.aborted) return;
    this.state.hasReadLog = true;
    await retryFor('blocks', signal)(verifyChain);
    await Promise.all([
      lead({ ...this.#parts, followed: this.followed, publish: () => this.#takeTurn() }),
      forgetEnded({ ...this.#parts, ...this, partitions: this.#parts.settings.PARTITIONS }),
    ]);
  }

  async stop(): Promise<void> {
    await this.#book?.stop();
    await this.followed.stop();
  }

  async #start(): Promise<void> {
    const { log, topics, loadOrders, retryFor, signal, logger } = this.#parts;
    const retry = retryFor('blocks', signal);
    const timeoutMs = END_OFFSETS_MS_MAX;
    const ends = await retry(() => log.endOffsets(topics.book, { timeoutMs }));
    const starts = await retry(() => loadOrders((orders) => this.#addOrders(orders)));
    logger.info({ ...this.watched.sizes() }, 'the open orders are read');
    const logEnds = await retry(() => log.endOffsets(topics.makerEvents, { timeoutMs }));
    const beyond = starts.find(({ partition, nextOffset }) => nextOffset > (logEnds[partition] ?? 0n));
    if (beyond !== undefined) {
      const { partition, nextOffset } = beyond;
      throw new LogContradiction(
        `the projection has read partition ${partition} of ${topics.makerEvents} up to offset ${nextOffset}, but the partition ends at ${logEnds[partition]}: the projection belongs to another log`,
      );
    }
    await this.followed.start(starts);
    this.#book = followBook({ ...this.#parts, watched: this.watched, followed: this.followed, ends });
    logger.info({ ...this.watched.sizes(), records: this.followed.counts.records }, 'the log is read');
  }

  #addOrders(orders: readonly OpenOrderRow[]): void {
    const unread = { sinceMs: this.#parts.monotonicMs(), trace: undefined };
    for (const order of orders) this.watched.add(order, order.isRead ? undefined : unread);
  }

  /** Takes over, and publishes until another watcher has taken over or the signal is aborted. On abort it resigns. */
  async #takeTurn(): Promise<void> {
    const { openPublisher, topics, unixMs, settings, signal, retryFor } = this.#parts;
    const fenced = openPublisher();
    const publisher = new FactPublisher({
      publisher: fenced,
      topic: topics.makerEvents,
      partitions: settings.PARTITIONS,
      unixMs,
      assertTimely: (block) => refuseAhead(block, this.#parts),
    });
    this.#enter('TAKING_OVER');
    try {
      await retryFor('blocks', signal)(() => fenced.takeOver());
      await this.#readToEnd();
      this.watched.takeAnswersFromLog(this.#parts.monotonicMs());
      this.#enter('HOLDER');
      await this.publishFacts(publisher);
      await publisher.resign();
    } catch (error) {
      if (!(error instanceof PublisherFenced || (signal.aborted && isRetryable(error)))) throw error;
    } finally {
      await fenced.close();
      this.#enter('STANDBY');
    }
  }

  #enter(role: Role): void {
    this.state.role = role;
    this.#parts.onRole(role);
  }

  /** Reads all that earlier holders have published. They are fenced, so no order is unknown from then on. */
  async #readToEnd(): Promise<void> {
    const { log, topics, retryFor, signal } = this.#parts;
    const { state, followed } = this;
    const ends = await retryFor(
      'blocks',
      signal,
    )(() => log.endOffsets(topics.makerEvents, { timeoutMs: END_OFFSETS_MS_MAX }));
    await followed.until(() => {
      const isAwaited = (end: bigint, partition: number) => (followed.partitions[partition]?.position ?? 0n) < end;
      state.awaited = ends.flatMap((end, partition) => (isAwaited(end, partition) ? [partition] : []));
      return state.awaited.length === 0;
    }, signal);
    state.awaited = [];
  }

  /** Ends when the signal is aborted, or another watcher has published a block. @throws PublisherFenced */
  async publishFacts(publisher: FactPublisher): Promise<void> {
    const { followed, state } = this;
    const over = new AbortController();
    const { signal } = over;
    // Node.js keeps all listeners of an AbortSignal.any in memory until it aborts, even those of a dead simulated
    // process.
    const stop = () => over.abort();
    this.#parts.signal.addEventListener('abort', stop, { once: true });
    if (this.#parts.signal.aborted) stop();
    const work = this.#openWork(publisher, signal);
    const { reader, position } = work;
    state.position = position;
    const newestBefore = followed.newestNumber();
    // Own blocks are matched before they are in the log. A watcher that is cut off from its nodes notices a successor
    // here.
    const isSucceeded = () =>
      followed.newestNumber() > Math.max(newestBefore, position.matched?.number ?? Number.POSITIVE_INFINITY);
    const watching = followed.until(isSucceeded, signal).then(() => over.abort());
    const loops = [
      watchBlocks(work),
      ...(reader === undefined ? [] : [readNewOrders(work), sweepPairs(work, reader), askWallets(work, reader)]),
    ];
    for (const loop of loops) loop.catch(() => over.abort());
    // Wait for all loops, so that nothing is appended after the resignation.
    const errors = (await Promise.allSettled(loops)).flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
    over.abort();
    this.#parts.signal.removeEventListener('abort', stop);
    await watching;
    state.position = undefined;
    const isBenign = (error: unknown) => error instanceof PublisherFenced || isRetryable(error);
    const error = errors.find((each) => !isBenign(each)) ?? errors.find((each) => each instanceof PublisherFenced);
    if (error !== undefined) throw error;
  }

  #openWork(publisher: FactPublisher, signal: AbortSignal): Holder {
    const { watched, followed } = this;
    const parts = this.#parts;
    const { settings, wait, retryFor } = parts;
    return {
      ...parts,
      signal,
      watched,
      followed,
      publisher,
      partitions: settings.PARTITIONS,
      position: { phase: 'CATCHING_UP', matched: undefined, processed: undefined, catchUp: undefined },
      sweep: this.state.sweep,
      readingBlocks: new ReadingBlocks({ ...parts, followed }),
      mutex: new Mutex(),
      wait: (ms) => wait(ms, signal),
      retryFor: (worker) => retryFor(worker, signal),
    };
  }
}
