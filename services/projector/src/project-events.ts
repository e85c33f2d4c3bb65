import type { Address, Maker } from '@makerbook/domain';
import {
  type BatchContext,
  FatalError,
  LogUnavailable,
  type PartitionBatch,
  PoisonRecord,
  PublisherFenced,
  RetryableError,
  type StoredRecord,
} from '@makerbook/kafka';
import {
  findAccepted,
  findDueMakers,
  InvariantBroken,
  PositionTaken,
  PostgresRefused,
  PostgresUnavailable,
  readNextDue,
  saveProjection,
} from '@makerbook/postgres';
import { boundStretch, submittedOrders } from './bound-stretch.js';
import { describeFeeds } from './describe-feeds.js';
import { clockAfter, type Folded, foldFacts, UnfoldableFact } from './fold-facts.js';
import { loadMakers } from './load-makers.js';
import { duePosition, noteBlocks } from './mark-position.js';
import { type OwnedPartition, type OwningParts, publishUnpublished, takePartition } from './own-partition.js';
import { packFeeds } from './publish-feeds.js';
import { type LoggedFact, readFact } from './read-facts.js';
import type { CacheRefresh } from './refresh-cache.js';
import { describeCacheChanges, describeRows } from './save-transitions.js';

/** What the flow measures; called on the hot path. */
export interface ProjectionMeters {
  readonly committed: (partition: number, facts: readonly LoggedFact[], folded: Folded, tookMs: number) => void;
  readonly published: (messages: number, tookMs: number) => void;
  /** A partition was taken: assigned, or taken again after a failure. */
  readonly taken: () => void;
}

/** Where a test may stop the process between two steps; whatever it throws is thrown there. */
export type Step = 'before commit' | 'after commit' | 'after publish';

export interface ProjectorParts extends OwningParts {
  readonly refreshCache: CacheRefresh;
  /** How many partitions the topic has. */
  readonly partitions: number;
  readonly routingGraceSeconds: number;
  /** Bound on what one commit may do to orders: a fact about a maker's funds can change all of them. */
  readonly commitTransitionsMax: number;
  /** How often it is said up to where a partition's feeds are complete. */
  readonly markIntervalMs: number;
  readonly meters: ProjectionMeters;
  /** A monotonic clock, for measuring alone. */
  readonly nowMs: () => number;
  readonly onStep?: (step: Step, partition: number) => Promise<void> | void;
}

/** The handler of the consumer loop; its functions fit `ConsumeOptions`. */
export interface Projector {
  readonly decode: (record: StoredRecord) => LoggedFact;
  /** Takes the partition and tells where its projection stands. */
  readonly positionOf: (partition: number) => Promise<bigint>;
  readonly handleBatch: (batch: PartitionBatch<LoggedFact>, context: Pick<BatchContext, 'heartbeat'>) => Promise<void>;
  readonly onRevoked: (partitions: readonly number[]) => Promise<void>;
  /** The partitions that are owned now, for health and metrics. */
  readonly owned: ReadonlyMap<number, OwnedPartition>;
}

/**
 * Folds the log into the read model: commit rows and position together, then publish the feeds and refresh the caches.
 * A crash between any two steps heals when the partition is taken again.
 */
export function createProjector(parts: ProjectorParts): Projector {
  const owned = new Map<number, OwnedPartition>();

  async function take(partition: number): Promise<OwnedPartition> {
    await giveUp(partition);
    const one = await translated(() => takePartition(partition, parts));
    owned.set(partition, one);
    parts.meters.taken();
    return one;
  }

  async function giveUp(partition: number, held = owned.get(partition)): Promise<void> {
    if (held === undefined) return;
    if (owned.get(partition) === held) owned.delete(partition);
    await held.publisher.close();
  }

  /** In good order: who starts from the book soon after need not go far back. Best effort. */
  async function leave(partition: number): Promise<void> {
    const one = owned.get(partition);
    if (one?.unpublished.length === 0) await markPosition(one, parts, 0).catch(() => undefined);
    await giveUp(partition);
  }

  return {
    owned,
    decode: (record) => readFact(record, parts.partitions),
    positionOf: async (partition) => (await take(partition)).position,
    onRevoked: async (partitions) => {
      await Promise.all(partitions.map(leave));
    },
    handleBatch: async ({ partition, records, fromOffset, nextOffset }, context) => {
      context.heartbeat();
      const one = owned.get(partition) ?? (await take(partition));
      try {
        await translated(async () => {
          await publishUnpublished(one);
          if (one.position < fromOffset) {
            throw new FatalError(`partition ${partition} stands at ${one.position}, before the batch at ${fromOffset}`);
          }
          while (one.position < nextOffset) {
            context.heartbeat();
            const left = records.filter(({ offset }) => offset >= one.position);
            await projectStretch(one, left, nextOffset, parts);
          }
        });
      } catch (error) {
        // Unpublished feeds wait in memory, and a fact that is parked has changed nothing. After any other failure
        // nothing in memory is believed: the partition is taken again, and read from Postgres.
        if (!(error instanceof LogUnavailable || error instanceof PoisonRecord)) await giveUp(partition, one);
        throw error;
      }
    },
  };
}

/** Folds facts up to `nextOffset`, or fewer where they would do too much at once, and moves the position. */
async function projectStretch(
  one: OwnedPartition,
  facts: readonly LoggedFact[],
  nextOffset: bigint,
  parts: ProjectorParts,
): Promise<void> {
  const makers = await loadMakers(await touchedMakers(one, facts, parts), one.cache, parts.postgres);
  const count = boundStretch(facts, makers, parts.commitTransitionsMax);
  const stretch = { makers, facts: facts.slice(0, count), nextOffset: facts[count]?.offset ?? nextOffset };
  try {
    await commitStretch(one, stretch, parts);
  } catch (error) {
    if (!(error instanceof InvariantBroken)) throw error;
    // The read model refused a row: fewer and fewer facts, until one is alone to blame.
    const [first] = stretch.facts;
    if (first === undefined) throw new FatalError(error.message, { cause: error });
    if (count === 1) throw new PoisonRecord(error.message, { offset: first.offset, cause: error });
    const half = facts.slice(0, count >> 1);
    return projectStretch(one, half, facts[half.length]?.offset ?? nextOffset, parts);
  }
}

async function touchedMakers(
  one: OwnedPartition,
  facts: readonly LoggedFact[],
  { postgres }: ProjectorParts,
): Promise<Set<Address>> {
  const touched = new Set<Address>();
  for (const { fact } of facts) if (fact.type !== 'BlockProcessed') touched.add(fact.maker);
  const clockSeconds = clockAfter(facts, one.clockSeconds);
  if (clockSeconds < one.nextDueSeconds) return touched;
  for (const maker of await findDueMakers(postgres, one.partition, clockSeconds)) touched.add(maker);
  return touched;
}

interface BoundStretch {
  readonly makers: ReadonlyMap<Address, Maker>;
  readonly facts: readonly LoggedFact[];
  readonly nextOffset: bigint;
}

async function commitStretch(one: OwnedPartition, stretch: BoundStretch, parts: ProjectorParts): Promise<void> {
  const { partition, clockSeconds, blockNumber, position: fromOffset } = one;
  const { makers, facts, nextOffset } = stretch;
  const { routingGraceSeconds, postgres, topics, meters } = parts;
  const startedAt = parts.nowMs();
  const accepted = await findAccepted(postgres, submittedOrders(facts));
  const folded = foldFacts({ facts, clockSeconds, blockNumber, makers, accepted, routingGraceSeconds });
  const feeds = describeFeeds(folded.happened, { partition, topics, routingGraceSeconds });

  await parts.onStep?.('before commit', partition);
  await saveProjection(postgres, {
    ...describeRows(makers, folded),
    partition,
    fromOffset,
    nextOffset,
    blockNumber: folded.blockNumber,
    clockSeconds: folded.clockSeconds,
    pending: feeds.length === 0 ? undefined : packFeeds(feeds, topics),
  });
  const wasDue = folded.clockSeconds >= one.nextDueSeconds;
  one.position = nextOffset;
  one.clockSeconds = folded.clockSeconds;
  one.blockNumber = folded.blockNumber;
  one.unpublished = feeds;
  one.cache.store(makers.values());
  one.cache.store(folded.makers.values());
  for (const { dueAtSeconds } of folded.makers.values()) {
    one.nextDueSeconds = Math.min(one.nextDueSeconds, dueAtSeconds);
  }
  const committedAt = parts.nowMs();
  meters.committed(partition, facts, folded, committedAt - startedAt);

  await parts.onStep?.('after commit', partition);
  const refreshed = parts.refreshCache({
    partition,
    prevPos: fromOffset,
    newPos: nextOffset,
    changes: describeCacheChanges(folded.happened),
  });
  noteBlocks(one.mark, facts);
  try {
    await publishUnpublished(one);
    await markPosition(one, parts, parts.markIntervalMs);
    if (feeds.length > 0) meters.published(feeds.length, parts.nowMs() - committedAt);
  } finally {
    await refreshed;
  }
  await parts.onStep?.('after publish', partition);
  if (wasDue) one.nextDueSeconds = (await readNextDue(postgres, partition)) ?? Number.POSITIVE_INFINITY;
}

/** Says up to where the feeds are complete, where that is due. To be called when nothing is left unpublished. */
async function markPosition(one: OwnedPartition, { nowMs, topics }: ProjectorParts, intervalMs: number): Promise<void> {
  const { partition, mark, publisher } = one;
  const record = duePosition(mark, { partition, nowMs: nowMs(), intervalMs, topic: topics.resume });
  if (record === undefined) return;
  await publisher.publish([record]);
  mark.marked = mark.blockBefore;
  mark.markedAtMs = nowMs();
}

/** What a failure means for the consumer loop: wait and try again, park one message, or stop. */
async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PostgresUnavailable || error instanceof PositionTaken || error instanceof PublisherFenced) {
      throw new RetryableError(error.message, { cause: error });
    }
    if (error instanceof PostgresRefused) throw new FatalError(error.message, { cause: error });
    if (error instanceof UnfoldableFact) {
      throw new PoisonRecord(error.message, { offset: error.offset, cause: error });
    }
    throw error;
  }
}
