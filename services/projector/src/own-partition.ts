import type { TopicNames } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/domain';
import type { FencedPublisher, FencedPublisherOptions, LogRecord } from '@makerbook/kafka';
import { type Postgres, readHaltedMakers, readNextDue, readProjection } from '@makerbook/postgres';
import { assertNotBehind, type FeedEnd } from './compare-feeds.js';
import { type HeldChanges, lostChanges } from './hold-cache-changes.js';
import { createMakerCache, type MakerCache } from './load-makers.js';
import { createPositionMark, type PositionMark } from './mark-position.js';
import { publishFeeds, unpackFeeds } from './publish-feeds.js';

/** A partition while this process projects it. All of it can be read again from Postgres. */
export interface OwnedPartition {
  readonly partition: number;
  /** Nobody who owned the partition before can publish any more. */
  readonly publisher: FencedPublisher;
  readonly cache: MakerCache;
  /** As committed: the offset of the next message to be folded. */
  position: bigint;
  /** Slices of the block at `position` that were committed. */
  slices: number;
  clockSeconds: number;
  blockNumber: number | undefined;
  /** No order of the partition was accepted after this offset. An upper bound. */
  newestOffset: bigint;
  /** No order of the partition is due before the clock reaches this second. A lower bound. */
  nextDueSeconds: number;
  /** Makers for whom a block could not be folded, with its offset. */
  halted: ReadonlyMap<Address, bigint>;
  /** Makers that the next block is to look at, whether anything of theirs is due or not. */
  readonly untried: Set<Address>;
  readonly mark: PositionMark;
  /** What the caches are told when the block that is folded in slices is done. */
  held: HeldChanges | undefined;
  /** Committed and perhaps not published. To be published before anything else is committed. */
  unpublished: readonly LogRecord[];
}

export interface OwningParts {
  readonly postgres: Postgres;
  readonly createFencedPublisher: (options: FencedPublisherOptions) => FencedPublisher;
  readonly topics: TopicNames;
  /** The partition's publisher has the transactional id `<prefix>projector-<partition>`. */
  readonly transactionalIdPrefix: string;
  readonly cachedOrdersMax: number;
  /** How far the feeds of a partition have come; undefined where they say nothing. */
  readonly readFeedEnd: (partition: number) => Promise<FeedEnd | undefined>;
  /** The database as a person would look for it, for messages. */
  readonly databaseName: string;
}

/**
 * Takes a partition: fences who published for it before, reads where it stands, and publishes what its last commit may
 * have left unpublished; the same bytes again are harmless.
 * @throws FatalError where the database is older than the feeds
 * @throws PostgresUnavailable, LogUnavailable, PublisherFenced: nothing is owned then
 */
export async function takePartition(partition: number, parts: OwningParts): Promise<OwnedPartition> {
  const { postgres, topics } = parts;
  const publisher = parts.createFencedPublisher({
    transactionalId: `${parts.transactionalIdPrefix}projector-${partition}`,
  });
  try {
    await publisher.takeOver();
    // Nobody else adds to the feeds from here on.
    const end = await parts.readFeedEnd(partition);
    const projection = await readProjection(postgres, partition);
    assertNotBehind(partition, projection, end, parts.databaseName);
    const nextDueSeconds = (await readNextDue(postgres, partition)) ?? Number.POSITIVE_INFINITY;
    const halted = await readHaltedMakers(postgres, partition);
    const one: OwnedPartition = {
      partition,
      publisher,
      cache: createMakerCache(parts.cachedOrdersMax),
      position: projection.nextOffset,
      slices: projection.slices,
      clockSeconds: projection.clockSeconds,
      blockNumber: projection.blockNumber,
      newestOffset: projection.nextOffset - 1n,
      nextDueSeconds,
      halted,
      // Each once: this process may be a build in which the fold was mended.
      untried: new Set(halted.keys()),
      mark: createPositionMark(projection.blockNumber),
      held: projection.slices > 0 ? lostChanges : undefined,
      unpublished: projection.pending === undefined ? [] : unpackFeeds(projection.pending, partition, topics),
    };
    await publishUnpublished(one);
    return one;
  } catch (error) {
    await publisher.close();
    throw error;
  }
}

/** Publishes what the last commit left to be published. Throws LogUnavailable or PublisherFenced, and keeps it then. */
export async function publishUnpublished(one: OwnedPartition): Promise<void> {
  if (one.unpublished.length === 0) return;
  await publishFeeds(one.publisher, one.unpublished);
  one.unpublished = [];
}
