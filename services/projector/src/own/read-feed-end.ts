import type { TopicNames } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-primitives';
import type { Log } from '@makerbook/kafka';
import { type FeedEnd, placeOfMessage } from '../fold/describe-feeds.js';

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
  return records
    .flat()
    .flatMap((record): FeedEnd[] => {
      const place = placeOfMessage(record);
      return place === undefined ? [] : [{ ...place, maker: record.headers['maker'] as Address | undefined }];
    })
    .sort((a, b) => Number(a.offset - b.offset) || a.index - b.index)
    .at(-1);
}
