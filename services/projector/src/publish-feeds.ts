import type { TopicNames } from '@makerbook/contracts-events';
import type { FencedPublisher, LogRecord } from '@makerbook/kafka';

/**
 * One publication is one transaction, so that what is published again is seen again as a whole: a feed that were left
 * standing in the middle of a repeat would show removed orders. Only what no commit should ever hold is cut, in order.
 */
const publicationBytesMax = 16 * 1024 * 1024;

/** The topics that the projector publishes to. */
export type FeedTopics = Pick<TopicNames, 'book' | 'makers' | 'resume'>;

interface Packed {
  readonly to: keyof FeedTopics;
  readonly key: string;
  readonly value: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** The messages as they are stored with the commit that made them: whoever owns the partition next publishes the same bytes. */
export function packFeeds(records: readonly LogRecord[], topics: FeedTopics): Buffer {
  const packed = records.map(
    ({ topic, key, value, headers }): Packed => ({
      to: topic === topics.book ? 'book' : topic === topics.makers ? 'makers' : 'resume',
      key,
      value: value === null ? null : value.toString('utf8'),
      headers,
    }),
  );
  return Buffer.from(JSON.stringify(packed));
}

/** The inverse of `packFeeds`. */
export function unpackFeeds(packed: Buffer, partition: number, topics: FeedTopics): LogRecord[] {
  const records: Packed[] = JSON.parse(packed.toString('utf8'));
  return records.map(({ to, key, value, headers }) => ({
    topic: topics[to],
    partition,
    key,
    value: value === null ? null : Buffer.from(value),
    headers,
  }));
}

/**
 * Publishes the messages in their order. When it fails half way, all of it is published again: each key ends with the
 * same newest record. Throws PublisherFenced or LogUnavailable.
 */
export async function publishFeeds(publisher: FencedPublisher, records: readonly LogRecord[]): Promise<void> {
  let publication: LogRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const size = sizeOf(record);
    if (publication.length > 0 && bytes + size > publicationBytesMax) {
      await publisher.publish(publication);
      publication = [];
      bytes = 0;
    }
    publication.push(record);
    bytes += size;
  }
  if (publication.length > 0) await publisher.publish(publication);
}

function sizeOf({ key, value, headers }: LogRecord): number {
  let size = key.length + (value?.length ?? 0) + 32;
  for (const [name, text] of Object.entries(headers)) size += name.length + text.length + 4;
  return size;
}
