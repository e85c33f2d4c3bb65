import { FatalError, type FencedPublisher } from '@makerbook/kafka';
import type { Projection } from '@makerbook/postgres';
import { RowCommitter } from '../commit/commit-rows.js';
import { type FeedEnd, factOfMessage, makerOfMessage } from '../fold/describe-feeds.js';
import { PartitionState } from '../fold/partition-state.js';
import { timeOf } from '../fold/read-facts.js';
import type { ProjectorParts } from '../parts.js';

/** A partition that this process owns. */
export interface TakenPartition {
  readonly state: PartitionState;
  readonly committer: RowCommitter;
  /** Fences earlier owners: none of them can publish any more. */
  readonly publisher: FencedPublisher;
  /** When the server that holds the rows was started, in microseconds since 1970. */
  readonly serverStartedAt: bigint;
}

/** The last message on the feeds, and when its fact happened. */
interface ToldFact extends FeedEnd {
  readonly timeMs: number;
}

/** The projector's topics. The messages of one fact are published together, on whichever of these they are. */
const feedsOf = ({ book, fills, makers }: ProjectorParts['topics']): readonly string[] => [book, fills, makers];
const endTimeoutMs = 10_000;

/**
 * Takes a partition: from here on no earlier owner can publish. The partition is folded again from its rows, and what
 * its feeds already hold is not published again. An earlier owner may still commit what it has published. The rows have
 * then moved, the next commit or read here fails, and the partition is taken again.
 * @param noteQuarantined see `PartitionState`
 * @throws FatalError if the feeds or the rows belong to another log
 * @throws PostgresUnavailable, LogUnavailable, PublisherFenced: nothing is owned then
 */
export async function takePartition(
  partition: number,
  parts: ProjectorParts,
  noteQuarantined: PartitionState['noteQuarantined'],
): Promise<TakenPartition> {
  const { log, store, topics, settings } = parts;
  const publisher = log.createFencedPublisher({
    transactionalId: `${settings.TOPIC_PREFIX}makerbook-projector-${partition}`,
    ownPartitions: feedsOf(topics).map((topic) => ({ topic, partition })),
  });
  try {
    await publisher.takeOver();
    const taken = await store.takeProjection(partition);
    const { projection, serverStartedAt } = taken;
    const published = await readFeedEnd(partition, parts);
    // Read the log's end after the rows and the feeds, which are never ahead of it: a later owner may be at work.
    const ends = await log.endOffsets(topics.makerEvents, { timeoutMs: endTimeoutMs });
    assertSameLog(partition, ends[partition] ?? 0n, projection, published, topics);
    if (published !== undefined) await assertSameFact(partition, published, parts);
    const rules = { partition, topics, routingGraceSeconds: settings.ROUTING_GRACE_SECONDS, published };
    const state = new PartitionState(taken, rules, settings.HELD_ORDERS_PER_PARTITION_MAX, noteQuarantined);
    return { state, publisher, committer: new RowCommitter(state, projection, parts), serverStartedAt };
  } catch (error) {
    await publisher.close();
    throw error;
  }
}

/**
 * Reads the last message on the feeds; undefined if there is none. Messages are published in the order of their facts
 * and numbers, so all before it are published too.
 */
async function readFeedEnd(partition: number, { log, topics }: ProjectorParts): Promise<ToldFact | undefined> {
  const records = await Promise.all(feedsOf(topics).map((topic) => log.readLastRecords(topic, partition)));
  return records
    .flat()
    .flatMap((record) => {
      const fact = factOfMessage(record);
      return fact === undefined ? [] : { ...fact, maker: makerOfMessage(record), timeMs: timeOf(record) };
    })
    .sort((a, b) => Number(a.offset - b.offset) || a.index - b.index)
    .at(-1);
}

/** Checks the time of the last message's fact: a log that has lost its end may have grown again, with other facts. */
async function assertSameFact(
  partition: number,
  { offset, timeMs }: ToldFact,
  { log, topics }: ProjectorParts,
): Promise<void> {
  const place = { topic: topics.makerEvents, partition };
  const record = (await log.readRecords(place, [offset])).get(offset);
  if (record !== undefined && timeOf(record) === timeMs) return;
  const told = `the fact of which ${feedsOf(topics).join(' or ')} speak`;
  throw new FatalError(
    `${place.topic} does not have, at offset ${offset} of partition ${partition}, ${told}: it has lost its end, or the ` +
      'feeds belong to another log. Stop all services, and restore the log',
  );
}

/** Refuses a log that ends before what was folded of it: it is another one. */
function assertSameLog(
  partition: number,
  end: bigint,
  { nextOffset }: Projection,
  published: FeedEnd | undefined,
  topics: ProjectorParts['topics'],
): void {
  const log = `${topics.makerEvents} ends at offset ${end} in partition ${partition}`;
  const another = 'another log, or the log was truncated or created again. Correct';
  if (nextOffset > end) {
    const folded = `the database has folded it up to ${nextOffset}: the database belongs to`;
    throw new FatalError(`${log}, and ${folded} ${another} DATABASE_URL or KAFKA_BROKERS`);
  }
  if (published !== undefined && published.offset >= end) {
    const told = `${feedsOf(topics).join(' or ')} already speak of offset ${published.offset}: the feeds belong to`;
    throw new FatalError(`${log}, and ${told} ${another} KAFKA_BROKERS or TOPIC_PREFIX`);
  }
}
