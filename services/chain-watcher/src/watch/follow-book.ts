import type { TopicNames } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import type { WithholdingReason } from '@makerbook/domain';
import type { Following } from '@makerbook/kafka';
import type { FollowedLog, FollowLogOptions } from './follow-log.js';

export interface FollowBookOptions extends Pick<FollowLogOptions, 'log' | 'watched' | 'onFatal'> {
  readonly topics: Pick<TopicNames, 'book'>;
  readonly followed: FollowedLog;
  /** The end of each partition of the book before the snapshot. */
  readonly ends: readonly bigint[];
  readonly signal: AbortSignal;
}

/** A withheld order is watched until it expires, because it may come back with the state that it has on the chain. */
export const staysWatched = new Set<string>([
  'GRACE_PERIOD',
  'QUARANTINED',
  'SUSPENDED',
  'CAPPED',
] satisfies WithholdingReason[]);
/** The book is ahead of the rows in the snapshot, so start reading this many records before the book's end. */
const TAIL_RECORDS = 5000n;
/** An order that is gone may be watched a moment longer. */
const PAUSE_MS = 100;

/**
 * Follows the feed, and removes orders that are gone from the watched set. Applies a tombstone only after the fact that
 * led to it was read.
 */
export function followBook({ log, topics, watched, followed, ends, signal, onFatal }: FollowBookOptions): Following {
  return log.followTopic({
    topic: topics.book,
    from: ends.map((end) => (end > TAIL_RECORDS ? end - TAIL_RECORDS : 0n)),
    onRecords: async (_, records) => {
      for (const { key, value, headers } of records) {
        const { removal = '', position_partition: partition, position_offset: offset } = headers;
        if (value !== null || staysWatched.has(removal) || partition === undefined || offset === undefined) continue;
        const isRead = () => (followed.partitions[Number(partition)]?.position ?? 0n) > BigInt(offset);
        await followed.until(isRead, signal);
        if (signal.aborted) return;
        watched.remove(key as Hex);
      }
    },
    pauseMs: PAUSE_MS,
    onFatal,
  });
}
