import { decodeBookRecord, decodeMakersRecord, type TopicNames } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-primitives';
import type { Log, StoredRecord } from '@makerbook/kafka';
import { type FeedEnd, isAfter, placeOfMessage } from '../fold/describe-feeds.js';

/**
 * The last message that was published on the feeds of a partition; undefined where there is none. Messages are published in
 * the order of their facts and numbers, so all before it are published too. To be read once nobody else can publish.
 * @throws LogUnavailable; any other error where the records cannot be read
 */
export async function readFeedEnd(
  partition: number,
  { log, topics }: { readonly log: Pick<Log, 'readLastRecords'>; readonly topics: TopicNames },
): Promise<FeedEnd | undefined> {
  const records = await Promise.all([topics.book, topics.makers].map((topic) => log.readLastRecords(topic, partition)));
  let last: StoredRecord | undefined;
  let end: FeedEnd | undefined;
  for (const record of records.flat()) {
    const place = placeOfMessage(record);
    if (place === undefined || (end !== undefined && !isAfter(place, end))) continue;
    last = record;
    end = { ...place, maker: undefined };
  }
  return last && end && { ...end, maker: makerOf(last, topics) };
}

/** Whose message it is; undefined where it is no maker's, and of a tombstone of a build that did not say so. */
function makerOf(record: StoredRecord, topics: TopicNames): Address | undefined {
  if (record.value === null) return record.headers['maker'] as Address | undefined;
  const read = record.topic === topics.book ? decodeBookRecord(record) : decodeMakersRecord(record);
  if ('unreadable' in read) throw new Error(`the last message of the feeds cannot be read: ${read.unreadable}`);
  if (read.type === 'BookEntry') return read.order.maker;
  return read.type === 'MakerView' ? read.maker : undefined;
}
