import { decodeBookRecord, type TopicNames, traceOf } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { boundedSeconds } from '@makerbook/domain';
import type { Following, Log, StoredRecord } from '@makerbook/kafka';
import type { FollowedLog } from './follow-log.js';
import type { WatchedSet } from './watched-set.js';

export interface FollowBookOptions {
  readonly log: Log;
  readonly topics: Pick<TopicNames, 'book'>;
  readonly watched: WatchedSet;
  readonly followed: FollowedLog;
  /** Where the book ended before the snapshot was made. */
  readonly ends: readonly bigint[];
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  readonly onUnread: () => void;
  readonly onFatal: (error: Error) => void;
}

/** An order that is only withheld from routers is watched until it expires. */
const STAYS_WATCHED = 'GRACE_PERIOD';
/** The book is ahead of the rows of which the snapshot is made: read again from so many records before its end. */
const TAIL_RECORDS = 5000n;

/**
 * Follows the feed for what the log alone does not show: orders that were removed leave the watched set, and those of a
 * maker who left quarantine are watched and read again. A record is applied after the fact that led to it was read.
 */
export function followBook(options: FollowBookOptions): Following {
  const { log, topics, ends, followed, signal, onFatal } = options;
  return log.followTopic({
    topic: topics.book,
    from: ends.map((end) => (end > TAIL_RECORDS ? end - TAIL_RECORDS : 0n)),
    onRecords: async (_, records) => {
      for (const record of records) {
        const change = readChange(record);
        if (change === undefined) continue;
        const { partition, offset } = change;
        await followed.until(() => (followed.partitions[partition]?.position ?? 0n) > offset, signal);
        if (signal.aborted) return;
        change.apply(options);
      }
    },
    onFatal,
  });
}

interface BookChange {
  readonly partition: number;
  readonly offset: bigint;
  readonly apply: (options: FollowBookOptions) => void;
}

/** Undefined where the record changes nothing of what is watched. */
function readChange(record: StoredRecord): BookChange | undefined {
  const { headers, value, key } = record;
  if (value === null) {
    const { removal, position_partition: partition, position_offset: offset } = headers;
    if (removal === STAYS_WATCHED || partition === undefined || offset === undefined) return undefined;
    const apply = ({ watched }: FollowBookOptions) => watched.remove(key as Hex);
    return { partition: Number(partition), offset: BigInt(offset), apply };
  }
  // A text search first: records of the book are many, and released orders are rare.
  if (!value.includes('"RELEASED"')) return undefined;
  const entry = decodeBookRecord(record);
  if ('unreadable' in entry || entry.type !== 'BookEntry' || !entry.causes.includes('RELEASED')) return undefined;
  const { orderHash, order, position } = entry;
  const apply = ({ watched, nowMs, onUnread }: FollowBookOptions) => {
    const expiresAtSeconds = boundedSeconds(BigInt(order.expiresAt));
    const unread = { sinceMs: nowMs(), trace: traceOf(headers) };
    watched.add({ orderHash, maker: order.maker, token: order.making.token, expiresAtSeconds }, unread);
    watched.markUnread(orderHash, unread);
    onUnread();
  };
  return { partition: position.partition, offset: BigInt(position.offset), apply };
}
