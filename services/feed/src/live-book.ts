import { Book, type FeedRecord, lineOf, type MessageId, RankedOrders } from '@makerbook/book';
import type { BookClock } from '@makerbook/contracts-events';
import type { Log } from '@makerbook/kafka';
import { gatherNews, type News, RecentNews } from './keep-recent.js';

export interface OpenBookOptions {
  /** `limit-orders.book.v1`, with the deployment's prefix. */
  readonly topic: string;
  readonly partitions: number;
  readonly recentBytesMax: number;
  /** A FeedViolation, or the topic cannot be read on: the book is not to be used any more. */
  readonly onFatal: (error: Error) => void;
  /** There are new records for the streams, a moment after they came. */
  readonly onNews: () => void;
  /** Does work a moment later; setImmediate unless given. */
  readonly soon?: (work: () => void) => void;
}

/** What a snapshot has of a partition. */
export interface LivePartition {
  /** The records that the compacted topic has of it now, in their order and without tombstones. */
  readonly lines: readonly string[];
  readonly last: MessageId | undefined;
  readonly entries: number;
  readonly hash: string;
}

export type LiveBook = ReturnType<typeof openBook>;

/** Headers that say the same in all messages, or are of a trace. */
const leftOut = new Set(['ce_specversion', 'ce_source', 'content-type', 'traceparent', 'tracestate', 'baggage']);

/** The book in memory: checked and ranked, and each record as a line, as it is sent. */
export function openBook(log: Pick<Log, 'followTopic'>, options: OpenBookOptions) {
  const { topic, partitions, recentBytesMax, onFatal, onNews, soon } = options;
  const book = new Book();
  const orders = new RankedOrders();
  // A key that is set again moves to the end, as compaction has it.
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
    /** What streams are sent from; undefined until the topic is read. */
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
    /** Undefined until a clock has named it. */
    logName,
    silenceMs: () => performance.now() - following.lastPollAtMs(),
    stop: () => following.stop(),
  };
}

/** The record without headers that say nothing of it. */
function withoutRest(record: FeedRecord): FeedRecord {
  const shown = Object.entries(record.headers).filter(([name]) => !leftOut.has(name));
  return { ...record, headers: Object.fromEntries(shown) };
}
