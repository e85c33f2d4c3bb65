import {
  type BookEntry,
  decodeBookEntry,
  decodeResumeRecord,
  type LogPosition,
  type TopicNames,
} from '@makerbook/contracts-events';
import type { Following, Log, Logger, StoredRecord } from '@makerbook/kafka';
import type { SeededOrder } from './keep-watched-set.js';

/** Where to begin in a partition of the log, and what is open there. */
export interface PartitionStart {
  /** The first fact to read: a `BlockProcessed`, with a later one behind it. 0 where the book says nothing: read all. */
  readonly from: bigint;
  /** Orders that were open at `from` and have not changed since the offset: their fact stands there or before. */
  readonly open: readonly { readonly order: SeededOrder; readonly offset: bigint; readonly isJudged: boolean }[];
  /** Orders that changed since, by the offset of the fact by which they are known to be open. */
  readonly openSince: ReadonlyMap<bigint, readonly SeededOrder[]>;
}

export interface BookReading {
  /** Undefined when it was stopped before the end. Rejects when the topics cannot be read any more. */
  readonly done: Promise<readonly PartitionStart[] | undefined>;
  lastPollAtMs(): number;
  stop(): Promise<void>;
}

interface Shown {
  readonly order: SeededOrder;
  readonly status: BookEntry['status'];
  readonly position: LogPosition;
}

/**
 * Reads what is open from the feeds of the projector, so that the log need not be read from its beginning: the cost
 * follows the number of open orders. What is read is newer than the positions, by different amounts; the log is read
 * again from the positions on, and every later fact does to the watched set what it did before. Three passes, so that
 * no order is missed: the positions, then a book that is at least as new, then the orders that were withheld meanwhile
 * (an order stands in `resume` before it leaves the book).
 */
export function readBook(options: {
  readonly log: Log;
  readonly topics: TopicNames;
  readonly partitions: number;
  readonly logger: Logger;
}): BookReading {
  const { log, topics, partitions, logger } = options;
  const positions = new Map<number, bigint>();
  const book = new Map<string, Shown>();
  const withheld = new Map<string, Shown>();
  let current: Following | undefined;
  let isStopped = false;

  const readToEnd = (
    topic: string,
    from: 'beginning' | readonly bigint[],
    onRecord: (record: StoredRecord) => string | undefined,
  ): Promise<readonly bigint[]> =>
    new Promise((resolve, reject) => {
      const following = log.followTopic({
        topic,
        from,
        onRecords: (partition, records) => {
          for (const record of records) {
            const reason = onRecord(record);
            if (reason === undefined) continue;
            logger.warn({ topic, partition, offset: String(record.offset), reason }, 'unreadable record of a feed');
          }
        },
        onFatal: reject,
      });
      current = following;
      following.caughtUp.then(async () => {
        const reached = following.positions();
        await following.stop();
        resolve(reached);
      }, reject);
    });

  const onResume = (isFirst: boolean) => (record: StoredRecord) => {
    if (record.value === null) {
      withheld.delete(record.key);
      return undefined;
    }
    const read = decodeResumeRecord(record);
    if ('unreadable' in read) return read.unreadable;
    if (read.type === 'WithheldOrder') withheld.set(read.orderHash, shownOf(read, 'VALIDATING'));
    else if (isFirst) positions.set(record.partition, BigInt(read.position.offset));
    return undefined;
  };
  const onBook = (record: StoredRecord) => {
    if (record.value === null) {
      book.delete(record.key);
      return undefined;
    }
    const entry = decodeBookEntry(record);
    if ('unreadable' in entry) return entry.unreadable;
    book.set(entry.orderHash, shownOf(entry, entry.status));
    return undefined;
  };

  const read = async () => {
    const reached = await readToEnd(topics.resume, 'beginning', onResume(true));
    if (isStopped) return undefined;
    await readToEnd(topics.book, 'beginning', onBook);
    if (isStopped) return undefined;
    await readToEnd(topics.resume, reached, onResume(false));
    return isStopped ? undefined : startsOf(positions, partitions, [book, withheld]);
  };
  return {
    done: read(),
    lastPollAtMs: () => current?.lastPollAtMs() ?? 0,
    stop: async () => {
      isStopped = true;
      await current?.stop();
    },
  };
}

/** Feeds of a partition whose position is not known are not believed: it is read from its beginning. */
function startsOf(
  positions: ReadonlyMap<number, bigint>,
  partitions: number,
  feeds: readonly ReadonlyMap<string, Shown>[],
): PartitionStart[] {
  const starts = Array.from({ length: partitions }, (_, partition) => ({
    from: positions.get(partition) ?? 0n,
    open: [] as { order: SeededOrder; offset: bigint; isJudged: boolean }[],
    openSince: new Map<bigint, SeededOrder[]>(),
  }));
  for (const feed of feeds) {
    for (const { order, status, position } of feed.values()) {
      const start = starts[position.partition];
      if (start === undefined || !positions.has(position.partition)) continue;
      const offset = BigInt(position.offset);
      if (offset < start.from) start.open.push({ order, offset, isJudged: status !== 'VALIDATING' });
      else start.openSince.set(offset, [...(start.openSince.get(offset) ?? []), order]);
    }
  }
  return starts;
}

/** No more than is needed: a million orders are held at once. */
function shownOf(
  { orderHash, order, acceptedAtMs, position }: Pick<BookEntry, 'orderHash' | 'order' | 'acceptedAtMs' | 'position'>,
  status: BookEntry['status'],
): Shown {
  return { order: { maker: order.maker, orderHash, order, acceptedAtMs }, status, position };
}
