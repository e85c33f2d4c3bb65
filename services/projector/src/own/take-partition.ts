import type { TopicNames } from '@makerbook/contracts-events';
import { FatalError, type FencedPublisher, type FencedPublisherOptions, type Log } from '@makerbook/kafka';
import type { Projection } from '@makerbook/postgres';
import { type CommitParts, RowCommitter } from '../commit/commit-rows.js';
import type { FeedEnd } from '../fold/describe-feeds.js';
import { createState, type PartitionState } from '../fold/partition-state.js';
import { readFeedEnd } from './read-feed-end.js';

export interface OwningParts extends CommitParts {
  readonly log: Pick<Log, 'endOffsets' | 'followTopic' | 'readLastRecords'>;
  readonly createFencedPublisher: (options: FencedPublisherOptions) => FencedPublisher;
  readonly topics: TopicNames;
  /** The partition's publisher has the transactional id `<prefix>projector-<partition>`. */
  readonly transactionalIdPrefix: string;
  readonly routingGraceSeconds: number;
  /** Makers and open orders that are held in memory, for each partition. */
  readonly heldMax: number;
  /** Throws a FatalError where more makers are quarantined than break by themselves. */
  readonly noteQuarantined: PartitionState['noteQuarantined'];
}

/** A partition that this process owns. */
export interface TakenPartition {
  readonly state: PartitionState;
  readonly committer: RowCommitter;
  /** No earlier owner can publish any more. */
  readonly publisher: FencedPublisher;
  /** When the server was started that had the rows. */
  readonly serverStartedAt: bigint;
}

const endTimeoutMs = 10_000;

/**
 * Takes a partition: no earlier owner can publish from here on. It is folded again from where its rows are, and what its
 * feeds hold already is not published again. An earlier owner may still commit what it has published; then the rows have
 * moved, the next commit or reading here fails, and the partition is taken again.
 * @throws FatalError where the feeds or the rows are of another log
 * @throws PostgresUnavailable, LogUnavailable, PublisherFenced: nothing is owned then
 */
export async function takePartition(partition: number, parts: OwningParts): Promise<TakenPartition> {
  const { log, store, topics, routingGraceSeconds, heldMax, noteQuarantined } = parts;
  const publisher = parts.createFencedPublisher({
    transactionalId: `${parts.transactionalIdPrefix}projector-${partition}`,
    ownPartitions: [topics.book, topics.makers].map((topic) => ({ topic, partition })),
  });
  try {
    await publisher.takeOver();
    const taken = await store.takeProjection(partition);
    const { projection, serverStartedAt } = taken;
    const published = await readFeedEnd(partition, { log, topics });
    // Reads the log's end after the rows and the feeds, which are never ahead of it: a later owner may be at work by now.
    const ends = await log.endOffsets(topics.makerEvents, { timeoutMs: endTimeoutMs });
    assertSameLog(partition, ends[partition] ?? 0n, projection, published, topics);
    const rules = { partition, topics, routingGraceSeconds, published };
    const state = createState(taken, rules, { heldMax, noteQuarantined });
    return { state, publisher, committer: new RowCommitter(state, projection, parts), serverStartedAt };
  } catch (error) {
    await publisher.close();
    throw error;
  }
}

/** A log that ends before what was folded of it is another one. */
function assertSameLog(
  partition: number,
  end: bigint,
  { nextOffset }: Projection,
  published: FeedEnd | undefined,
  topics: TopicNames,
): void {
  const log = `${topics.makerEvents} ends at offset ${end} in partition ${partition}`;
  if (nextOffset > end) {
    throw new FatalError(
      `${log}, and the database has folded it up to ${nextOffset}: the database belongs to another log, or the log was ` +
        'truncated or made anew. Correct DATABASE_URL or KAFKA_BROKERS',
    );
  }
  if (published !== undefined && published.offset >= end) {
    throw new FatalError(
      `${log}, and ${topics.book} or ${topics.makers} already speak of offset ${published.offset}: the feeds belong to ` +
        'another log, or the log was truncated or made anew. Correct KAFKA_BROKERS or TOPIC_PREFIX',
    );
  }
}
