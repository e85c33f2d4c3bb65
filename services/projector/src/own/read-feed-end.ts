import type { TopicNames } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-primitives';
import type { Log } from '@makerbook/kafka';
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
  let end: FeedEnd | undefined;
  for (const record of records.flat()) {
    const place = placeOfMessage(record);
    if (place === undefined || (end !== undefined && !isAfter(place, end))) continue;
    end = { ...place, maker: record.headers['maker'] as Address | undefined };
  }
  return end;
}
