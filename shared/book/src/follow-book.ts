import type { BookClock, BookEntry } from '@makerbook/contracts-events';
import { Book, type BookChange, type FeedRecord } from './book.js';

/** A client of Kafka that reads committed records alone, as far as the book needs one; or `readOverHttp`. */
export interface FeedReader {
  /** Reads all partitions from their beginning, and goes on. */
  followTopic(options: {
    readonly topic: string;
    readonly from: 'beginning';
    /** Takes records of a partition in their order. Throwing ends the reading. */
    readonly onRecords: (partition: number, records: readonly FeedRecord[]) => void;
    /** Called once, when nothing is read any more. */
    readonly onFatal: (error: Error) => void;
  }): {
    /** Resolves when all that the topic held at the start has been handed over; never where the reading ends before. */
    readonly caughtUp: Promise<void>;
    /** The next offset to be read, by partition; empty until the partitions are known. */
    positions(): readonly bigint[];
    /** When something came from where it reads, by `performance.now()`: a quiet feed is heard all the same. */
    lastPollAtMs?(): number;
    stop(): Promise<void>;
  };
}

export interface FollowBookOptions {
  /** `limit-orders.book.v1`, with the deployment's prefix. */
  readonly topic: string;
  /** After each record, in the order of its partition; also for all that the topic held at the start. */
  readonly onChange?: (change: BookChange) => void;
  /** A FeedViolation, or an error of `onChange` or the reader: drop the book, and follow it anew. */
  readonly onFatal: (error: Error) => void;
}

/** The book, as the feed has it now. */
export interface FollowedBook {
  /** Resolves when all that the topic held at the start is read: before, orders are missing. Never after `onFatal`. */
  readonly caughtUp: Promise<void>;
  /** Open orders by hash. */
  readonly entries: ReadonlyMap<string, BookEntry>;
  /** By partition: how far its part of the book is complete. */
  readonly clocks: ReadonlyMap<number, BookClock>;
  /**
   * The timestamp, in seconds, of the block up to which all partitions are complete; undefined until each of them has a
   * clock. Where it lies further back than a few blocks take, the feed is not quiet but behind, or dead.
   */
  staleSince(): number | undefined;
  /**
   * How long nothing came from where it is read, in milliseconds; Infinity before the first time, and undefined where
   * the reader does not say it. A feed that is quiet is heard every few seconds; a connection that is dead is not.
   */
  silenceMs(): number | undefined;
  stop(): Promise<void>;
}

/**
 * Follows the router's feed from its beginning. The topic is compacted: reading it again costs the number of open
 * orders, so no position and no snapshot is kept anywhere.
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
