import type { BookClock, BookEntry } from '@makerbook/contracts-events';
import { Book, type BookChange, type FeedRecord } from './book.js';

/** A reader for the book: a Kafka client that reads only committed records, or `readOverHttp`. */
export interface FeedReader {
  /** Reads all partitions from their beginning, and continues with new records. */
  followTopic(options: {
    readonly topic: string;
    readonly from: 'beginning';
    /** Takes records of a partition in their order. Throwing ends the reading. */
    readonly onRecords: (partition: number, records: readonly FeedRecord[]) => void;
    /** Called once, when reading has ended. */
    readonly onFatal: (error: Error) => void;
  }): {
    /**
     * Resolves when everything the topic held at the start was handed over. Never resolves if the reading ends before.
     */
    readonly caughtUp: Promise<void>;
    /** The next offset to read of each partition; empty until the partitions are known. */
    positions(): readonly bigint[];
    /** When the reader last heard from its source, by `performance.now()`. It also hears from a quiet feed. */
    lastPollAtMs?(): number;
    stop(): Promise<void>;
  };
}

export interface FollowBookOptions {
  /** `limit-orders.book.v1`, with the deployment's prefix. */
  readonly topic: string;
  /** Called after each record, in the order of its partition, also for everything the topic held at the start. */
  readonly onChange?: (change: BookChange) => void;
  /** Called with a FeedViolation, or an error of `onChange` or the reader. Drop the book and follow it again. */
  readonly onFatal: (error: Error) => void;
}

/** The book in the present state of the feed. */
export interface FollowedBook {
  /**
   * Resolves when everything the topic held at the start is read. Before that, orders are missing. Never resolves after
   * `onFatal`.
   */
  readonly caughtUp: Promise<void>;
  /** Open orders by hash. */
  readonly entries: ReadonlyMap<string, BookEntry>;
  /** Keyed by partition: how far that part of the book is complete. */
  readonly clocks: ReadonlyMap<number, BookClock>;
  /**
   * The timestamp, in seconds, of the block up to which all partitions are complete; undefined until each of them has a
   * clock. If it is older than a few blocks take, the feed is not quiet but behind, or dead.
   */
  staleSince(): number | undefined;
  /**
   * How long the reader has heard nothing from its source, in milliseconds. Infinity before it first hears something;
   * undefined if the reader does not tell. It hears from a quiet feed every few seconds, but not from a dead
   * connection.
   */
  silenceMs(): number | undefined;
  stop(): Promise<void>;
}

/**
 * Follows the router's feed from its beginning. The topic is compacted, so reading it again costs only the number of
 * open orders. That is why no position and no snapshot is stored.
 */
export function followBook(
  reader: FeedReader,
  { topic, onChange = () => undefined, onFatal }: FollowBookOptions,
): FollowedBook {
  const book = new Book();
  const following = reader.followTopic({
    topic,
    from: 'beginning',
    onFatal,
    onRecords: (_partition, records) => {
      for (const record of records) onChange(book.apply(record));
    },
  });
  const caughtUp = following.caughtUp.then(() => book.expectWhole());
  caughtUp.catch(() => undefined);
  return {
    caughtUp,
    entries: book.entries,
    clocks: book.clocks,
    staleSince: () => book.staleSince(following.positions().length),
    silenceMs: () => following.lastPollAtMs && performance.now() - following.lastPollAtMs(),
    stop: () => following.stop(),
  };
}
