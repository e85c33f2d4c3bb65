import { ChainContradiction } from '@makerbook/chain';
import {
  type BlockProcessed,
  decodeMakerEvent,
  isTooLate,
  type MakerEvent,
  misplacement,
  servicePartition,
  type TopicNames,
  traceOf,
} from '@makerbook/contracts-events';
import type { Address, Hex, MonotonicMs } from '@makerbook/contracts-primitives';
import { boundedSeconds } from '@makerbook/domain';
import { FatalError, type Following, type Log, type Logger, partitionOf, type StoredRecord } from '@makerbook/kafka';
import type { ProjectedPartition } from '../store/read-open-orders.js';
import type { WatchedSet } from './watched-set.js';

/** How many records before the snapshot are read for their blocks. */
const TAIL_RECORDS = 500n;
const EXPIRY_MARGIN_SECONDS = 10;

/** A block of the log. The hash is unknown if the block comes from the snapshot and is not in the log's tail. */
export interface LogBlock {
  readonly number: number;
  readonly hash?: Hex;
  readonly timestamp: number;
}

/** A partition of the log, as far as it was read. */
export interface PartitionView {
  /** The newest block. */
  block: LogBlock | undefined;
  blockReadAtMs: number;
  /** The next offset to be read. */
  position: bigint;
}

export interface FollowLogOptions {
  readonly log: Pick<Log, 'followTopic'>;
  readonly topics: Pick<TopicNames, 'makerEvents'>;
  readonly partitions: number;
  readonly watched: WatchedSet;
  readonly logger: Logger;
  readonly monotonicMs: () => MonotonicMs;
  /** Called if the log can no longer be followed, or contradicts itself. */
  readonly onFatal: (error: Error) => void;
}

/** Fills that may not have been published. */
export interface MissedFills {
  /** The first block with such fills; Infinity if there is none, 0 if it is unknown. */
  readonly from: number;
  /** The makers of these fills; undefined: any maker. */
  readonly makers: ReadonlySet<Address> | undefined;
}

/** Postgres has the rows of another log, or facts were deleted from the log. No retry helps: a person has to act. */
export class LogContradiction extends Error {
  override readonly name = 'LogContradiction';
}

/** The log of facts, read into the watched set and a view of each partition: its newest block, and its position. */
export class FollowedLog {
  readonly partitions: readonly PartitionView[];
  /** The newest block at which anything that counts was read; -1 if nothing was. */
  newestRead = -1;
  /** The watcher that published has stopped, and none has published since. */
  isResigned = false;
  readonly counts = { records: 0, unreadable: 0 };
  readonly #options: FollowLogOptions;
  /** Makers whose fills are not published yet. */
  #newcomers = new Set<Address>();
  #missedFrom = Number.POSITIVE_INFINITY;
  readonly #waiters = new Set<() => void>();
  /** The position of each partition in the snapshot; a missing partition was not folded. */
  #starts: ReadonlyMap<number, ProjectedPartition> = new Map();
  #following: Following | undefined;

  constructor(options: FollowLogOptions) {
    this.#options = options;
    this.partitions = Array.from({ length: options.partitions }, () => ({
      block: undefined,
      blockReadAtMs: options.monotonicMs(),
      position: 0n,
    }));
  }

  /**
   * Reads the log from the snapshot on. Reads a short tail before it for its blocks, because the snapshot lacks their
   * hashes, and more for makers in quarantine. Resolves when everything that was in the log is in the watched set.
   * @throws LogContradiction if the snapshot is of another log
   */
  async start(starts: readonly ProjectedPartition[]): Promise<void> {
    const { log, topics, watched, onFatal } = this.#options;
    this.#starts = new Map(starts.map((each) => [each.partition, each]));
    for (const { partition, block, newestRead, makers } of starts) {
      watched.know(makers);
      this.#view(partition).block = block;
      this.newestRead = Math.max(this.newestRead, block?.number ?? -1, newestRead);
    }
    const from = this.partitions.map((_, partition) => {
      const { nextOffset = 0n, quarantined } = this.#starts.get(partition) ?? {};
      const tail = nextOffset > TAIL_RECORDS ? nextOffset - TAIL_RECORDS : 0n;
      return [...(quarantined?.values() ?? [])].reduce((first, offset) => (offset < first ? offset : first), tail);
    });
    this.#following = log.followTopic({
      topic: topics.makerEvents,
      from,
      isGapless: true,
      onRecords: (partition, records) => this.#read(partition, records),
      onPosition: (partition, position) => {
        this.#view(partition).position = position;
        this.#wake();
      },
      onFatal: (error) =>
        onFatal(error instanceof FatalError ? new LogContradiction(error.message, { cause: error }) : error),
    });
    await this.#following.caughtUp;
  }

  /** The position of the rows that this process began with. */
  startOf(partition: number): bigint {
    return this.#starts.get(partition)?.nextOffset ?? 0n;
  }

  /** The newest block of any partition. */
  newestBlock(): LogBlock | undefined {
    return this.#blocks().at(-1);
  }

  /** The number of the newest block; -1 before the first. */
  newestNumber(): number {
    return this.newestBlock()?.number ?? -1;
  }

  /** The oldest among the partitions' newest blocks. Partitions without a block do not count. */
  oldestBlock(): LogBlock | undefined {
    return this.#blocks()[0];
  }

  /**
   * From here on the fills of makers that the log has named since the last call are published. They come no earlier, so
   * that a maker's fills come in the order of the chain.
   * @returns the fills that may have been missed before
   */
  takeMissed(): MissedFills {
    const from = this.#missedFrom;
    const newcomers = this.#newcomers;
    this.#options.watched.know(newcomers);
    this.#newcomers = new Set();
    this.#missedFrom = Number.POSITIVE_INFINITY;
    return { from, makers: newcomers };
  }

  /** Resolves once the condition holds, or on abort. It is checked after each batch of records. */
  async until(isSo: () => boolean, signal: AbortSignal): Promise<void> {
    if (isSo() || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        this.#waiters.delete(look);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const look = () => {
        if (isSo()) done();
      };
      this.#waiters.add(look);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  /** When the brokers last answered, by `performance.now()`; 0 before `start`, -Infinity before the first answer. */
  lastPollAtMs(): number {
    return this.#following?.lastPollAtMs() ?? 0;
  }

  async stop(): Promise<void> {
    await this.#following?.stop();
  }

  #blocks(): LogBlock[] {
    return this.partitions.flatMap(({ block }) => block ?? []).sort((a, b) => a.number - b.number);
  }

  #view(partition: number): PartitionView {
    const view = this.partitions[partition];
    if (view === undefined) throw new Error(`there is no partition ${partition}`);
    return view;
  }

  #wake(): void {
    for (const look of this.#waiters) look();
  }

  #read(partition: number, records: readonly StoredRecord[]): void {
    const { logger, topics, partitions } = this.#options;
    const view = this.#view(partition);
    for (const record of records) {
      const { offset } = record;
      view.position = offset + 1n;
      this.counts.records += 1;
      const fact = readFact(record, partitions);
      if ('unreadable' in fact) {
        // The projector parks it, so nothing that is watched can follow from it.
        this.counts.unreadable += 1;
        const reason = fact.unreadable;
        logger.warn({ topic: topics.makerEvents, partition, offset: String(offset), reason }, 'unreadable fact');
      } else this.apply(partition, fact, record, offset < this.#knownTo(partition, fact));
    }
    this.#wake();
  }

  /** The position up to which facts about the maker are in the snapshot. */
  #knownTo(partition: number, fact: MakerEvent): bigint {
    const { nextOffset = 0n, quarantined } = this.#starts.get(partition) ?? {};
    return ('maker' in fact ? quarantined?.get(fact.maker) : undefined) ?? nextOffset;
  }

  /** @param isKnown true if the fact is in the snapshot */
  apply(partition: number, fact: MakerEvent, record: StoredRecord, isKnown: boolean): void {
    const { watched, monotonicMs } = this.#options;
    const view = this.#view(partition);
    const unread = { sinceMs: monotonicMs(), trace: traceOf(record.headers) };
    const isPublished = fact.type === 'MakerObserved' || fact.type === 'BlockProcessed';
    // A resignation is in partition 0. Whatever is published after it there comes from another watcher.
    if (isPublished && partition === servicePartition) this.isResigned = false;
    switch (fact.type) {
      case 'MakerAdmitted':
        if (!isKnown) this.#noteMaker(fact.maker, view);
        return;
      case 'OrderSubmitted': {
        if (isKnown || isTooLate(record)) return;
        const { orderHash, maker, order, signature, byWallet } = fact;
        const expiresAtSeconds = boundedSeconds(BigInt(order.expiresAt));
        const walletSignature = byWallet ? signature : null;
        const tokens = { makingToken: order.making.token, takingToken: order.taking.token };
        this.#noteMaker(maker, view);
        watched.add({ orderHash, maker, ...tokens, expiresAtSeconds, walletSignature }, unread, record.offset);
        return;
      }
      case 'OrderCancelled':
        // The book has no tombstone for an order it never had. Check the maker: anybody may cancel any hash.
        if (!isKnown && !isTooLate(record)) watched.remove(fact.orderHash, fact.maker);
        return;
      case 'MakerObserved':
        if (fact.block.number < (view.block?.number ?? -1)) return;
        this.newestRead = Math.max(this.newestRead, fact.block.number);
        if (!isKnown) watched.noteObserved(fact, monotonicMs());
        return;
      case 'QuarantineLifted':
        // Earlier readings no longer count.
        if (!isKnown) watched.markUnread(fact.maker, unread);
        return;
      case 'BlockProcessed':
        this.#noteBlock(partition, fact);
        return;
      case 'WatcherResigned':
        this.isResigned = true;
        return;
      default:
        return;
    }
  }

  #noteMaker(maker: Address, { block }: PartitionView): void {
    if (this.#options.watched.knows(maker)) return;
    this.#newcomers.add(maker);
    this.#missedFrom = Math.min(this.#missedFrom, (block?.number ?? -1) + 1);
  }

  #noteBlock(partition: number, { block }: BlockProcessed): void {
    const { monotonicMs, watched } = this.#options;
    const view = this.#view(partition);
    const known = view.block;
    if (known?.number === block.number && known.hash !== undefined && known.hash !== block.hash) {
      throw new ChainContradiction(
        `partition ${partition} of the log holds two blocks ${block.number}: ${known.hash} and ${block.hash}`,
      );
    }
    if (known !== undefined && block.number < known.number) return;
    const timestamp = Math.max(block.timestamp, known?.timestamp ?? 0);
    view.block = { number: block.number, hash: block.hash, timestamp };
    view.blockReadAtMs = monotonicMs();
    this.newestRead = Math.max(this.newestRead, block.number);
    // An order expires by the clock of its partition. Use the slowest clock for all, so that none is dropped too early.
    if (this.partitions.every((each) => each.block !== undefined)) {
      watched.expire(Math.min(...this.partitions.map((each) => each.block?.timestamp ?? 0)) - EXPIRY_MARGIN_SECONDS);
    }
  }
}

/** Reads a fact, and refuses one in the wrong partition. */
function readFact(record: StoredRecord, partitions: number): ReturnType<typeof decodeMakerEvent> {
  const fact = decodeMakerEvent(record);
  if ('unreadable' in fact) return fact;
  const misplaced = misplacement(fact, record.partition, (maker) => partitionOf(maker, partitions));
  return misplaced === undefined ? fact : { unreadable: misplaced };
}
