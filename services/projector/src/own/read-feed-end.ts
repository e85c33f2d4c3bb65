import type { TopicNames } from '@makerbook/contracts-events';
import type { Log } from '@makerbook/kafka';
import type { LogPlace } from '@makerbook/postgres';
import { isAfter, placeOfMessage } from '../fold/describe-feeds.js';

/**
 * The last message that was published on the feeds of a partition; undefined where there is none. A fact's messages are
 * published in the order of their numbers, so all before it are published too. To be read once nobody else can publish.
 * @throws LogUnavailable; any other error where the records cannot be read
 */
export async function readFeedEnd(
  partition: number,
  { log, topics }: { readonly log: Pick<Log, 'readLastRecords'>; readonly topics: TopicNames },
): Promise<LogPlace | undefined> {
  const records = await Promise.all([topics.book, topics.makers].map((topic) => log.readLastRecords(topic, partition)));
  let end: LogPlace | undefined;
  for (const record of records.flat()) {
    const place = placeOfMessage(record);
    if (place !== undefined && (end === undefined || isAfter(place, end))) end = place;
  }
  return end;
}
