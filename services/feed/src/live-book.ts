import { Book, type FeedRecord, lineOf, type MessageId, RankedOrders } from '@makerbook/book';
import type { BookClock } from '@makerbook/contracts-events';
import type { Log } from '@makerbook/kafka';
import { gatherNews, type News, RecentNews } from './keep-recent.js';

export interface OpenBookOptions {
  /** `limit-orders.book.v1`, with the deployment's prefix. */
  readonly topic: string;
  readonly partitions: number;
  readonly recentBytesMax: number;
  /** Called on a FeedViolation, or if the topic cannot be read on. The book must no longer be used. */
  readonly onFatal: (error: Error) => void;
  /** Called a moment after new records came for the streams. */
  readonly onNews: () => void;
  /** Runs work a moment later; setImmediate unless given. */
  readonly soon?: (work: () => void) => void;
}

/** A partition, as a snapshot has it. */
export interface LivePartition {
  /** The partition's records in the compacted topic now, in their order and without tombstones. */
  readonly lines: readonly string[];
  readonly last: MessageId | undefined;
  readonly entries: number;
  readonly hash: string;
}

export type LiveBook = ReturnType<typeof openBook>;

/** Headers that are equal in all messages, or belong to a trace. */
const leftOut = new Set(['ce_specversion', 'ce_source', 'content-type', 'traceparent', 'tracestate', 'baggage']);

/** The book in memory. It is checked and ranked, and has each record as the line that is sent. */
export function openBook(log: Pick<Log, 'followTopic'>, options: OpenBookOptions) {
  const { topic, partitions, recentBytesMax, onFatal, onNews, soon } = options;
  const book = new Book();
  const orders = new RankedOrders();
  // A key that is set again moves to the end, as in the compacted topic.
  const lines = Array.from({ length: partitions }, () => new Map<string, string>());
  const last = new Array<MessageId | undefined>(partitions).fill(undefined);
  let recent: RecentNews | undefined;
  let note: (news: News) => void = () => undefined;
  /** One partition names the log for all. */
  const logName = () => book.clocks.get(0)?.log;

  function take(record: FeedRecord): void {
    const { partition, key } = record;
    const change = book.apply(record);
    orders.apply(change);
    const line = lineOf(withoutRest(record));
    lines[partition]?.delete(key);
    if (change.kind !== 'removed') lines[partition]?.set(key, line);
    last[partition] = change.id;
    note({ partition, id: change.id, event: change.kind, log: logName(), line });
  }

  const following = log.followTopic({
    topic,
    from: 'beginning',
    onFatal,
    onRecords: (_partition, records) => {
      for (const record of records) take(record);
    },
  });
  const caughtUp = following.caughtUp.then(() => {
    book.expectWhole();
    recent = new RecentNews([...last], recentBytesMax);
    note = gatherNews(recent, onNews, soon);
  });
  return {
    /** Resolves when all that the topic held at the start is read. */
    caughtUp,
    /** The records that streams send; undefined until the topic is read. */
    recent: (): RecentNews | undefined => recent,
    orders,
    entries: () => book.entries.size,
    /** The oldest block up to which a partition is complete; undefined until every one has a clock. */
    oldestBlock: (): BookClock['block'] | undefined => {
      const blocks = [...book.clocks.values()].map(({ block }) => block);
      return blocks.length < partitions
        ? undefined
        : blocks.reduce((one, other) => (other.number < one.number ? other : one));
    },
    /** A partition as it is at this instant. */
    capture: (partition: number): LivePartition => ({
      lines: [...(lines[partition]?.values() ?? [])],
      last: last[partition],
      ...book.digestOf(partition),
    }),
    partitions,
    /** The name of the log. Undefined until a clock has told it. */
    logName,
    silenceMs: () => performance.now() - following.lastPollAtMs(),
    stop: () => following.stop(),
  };
}

/** The record without headers that say nothing about it. */
function withoutRest(record: FeedRecord): FeedRecord {
  const shown = Object.entries(record.headers).filter(([name]) => !leftOut.has(name));
  return { ...record, headers: Object.fromEntries(shown) };
}
