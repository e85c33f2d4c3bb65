import type { TopicNames } from '@makerbook/contracts-events';
import { FatalError, type Log, type Logger, LogUnavailable } from '@makerbook/kafka';
import type { Projection } from '@makerbook/postgres';
import { offsetOfMessage } from './name-messages.js';

/** The latest fact of which the feeds of a partition speak, and where they do. */
export interface FeedEnd {
  readonly topic: string;
  readonly offset: bigint;
}

/**
 * Reads how far the feeds of a partition have come, from their last records. What cannot be read says nothing: it must
 * not keep a projector from starting.
 * @throws LogUnavailable
 */
export async function readFeedEnd(
  partition: number,
  {
    log,
    topics,
    logger,
  }: { readonly log: Pick<Log, 'readLastRecords'>; readonly topics: TopicNames; readonly logger: Logger },
): Promise<FeedEnd | undefined> {
  const ends = await Promise.all(
    [topics.book, topics.makers, topics.resume].map(async (topic): Promise<FeedEnd[]> => {
      try {
        const records = await log.readLastRecords(topic, partition);
        return records.flatMap((record) => {
          const offset = offsetOfMessage(record);
          return offset === undefined ? [] : { topic, offset };
        });
      } catch (error) {
        if (error instanceof LogUnavailable) throw error;
        logger.warn({ topic, partition, reason: (error as Error).message }, 'the end of a feed cannot be read');
        return [];
      }
    }),
  );
  return ends
    .flat()
    .reduce<FeedEnd | undefined>((end, one) => (end && end.offset >= one.offset ? end : one), undefined);
}

/**
 * What is published was committed before. So where a feed speaks of a fact that the read model has not folded, the read
 * model is older than the feeds, or another one, and would tell their readers the past once more.
 * @param end read before the projection was
 * @throws FatalError
 */
export function assertNotBehind(
  partition: number,
  { nextOffset, slices }: Pick<Projection, 'nextOffset' | 'slices'>,
  end: FeedEnd | undefined,
  databaseName: string,
): void {
  if (end === undefined || end.offset < nextOffset) return;
  // The slices of a block are published while the position is still before it.
  if (end.offset === nextOffset && slices > 0) return;
  throw new FatalError(
    `the database ${databaseName} is older than the feeds, or another one: partition ${partition} stands at offset ` +
      `${nextOffset} there, and ${end.topic} already speaks of offset ${end.offset}. Its readers would see the past once ` +
      'more, so nothing of the partition was published or committed. Set DATABASE_URL to the database that the feeds were ' +
      'made from; if it is lost, make the feeds anew: see "A database older than the feeds" in services/projector/README.md',
  );
}
