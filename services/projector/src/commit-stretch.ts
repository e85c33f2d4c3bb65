import type { Address, Maker } from '@makerbook/domain';
import type { LogRecord } from '@makerbook/kafka';
import { readNextDue, saveProjection } from '@makerbook/postgres';
import type { Folded } from './fold-facts.js';
import type { Halt } from './halt-makers.js';
import { holdChanges, withHeldChanges } from './hold-cache-changes.js';
import { duePosition, noteBlocks } from './mark-position.js';
import { type OwnedPartition, type OwningParts, publishUnpublished } from './own-partition.js';
import { packFeeds } from './publish-feeds.js';
import type { LoggedFact } from './read-facts.js';
import type { CacheRefresh } from './refresh-cache.js';
import { type ChangedRows, describeCacheChanges } from './save-transitions.js';

/** What the flow measures; called on the hot path. */
export interface ProjectionMeters {
  /** @param facts those that are done with; none where other slices of a block follow */
  readonly committed: (partition: number, facts: readonly LoggedFact[], folded: Folded, tookMs: number) => void;
  readonly published: (messages: number, tookMs: number) => void;
  /** A partition was taken: assigned, or taken again after a failure. */
  readonly taken: () => void;
}

/** Where a test may stop the process between two steps; whatever it throws is thrown there. */
export type Step = 'before commit' | 'after commit' | 'after publish';

export interface CommitParts extends Pick<OwningParts, 'postgres' | 'topics'> {
  readonly refreshCache: CacheRefresh;
  readonly routingGraceSeconds: number;
  /** How often it is said up to where a partition's feeds are complete. */
  readonly markIntervalMs: number;
  readonly meters: ProjectionMeters;
  /** A monotonic clock, for measuring alone. */
  readonly nowMs: () => number;
  readonly onStep?: (step: Step, partition: number) => Promise<void> | void;
}

/** A stretch that was folded. */
export interface FoldedStretch {
  readonly facts: readonly LoggedFact[];
  /** False: a slice of the one fact, a block; the position stays before it. */
  readonly isWhole: boolean;
  readonly nextOffset: bigint;
  readonly startedAtMs: number;
  /** The makers that it could touch, as they were. */
  readonly before: ReadonlyMap<Address, Maker>;
  readonly folded: Folded;
  readonly rows: ChangedRows;
  readonly feeds: readonly LogRecord[];
  readonly halts: readonly Halt[];
}

/**
 * Commits what a stretch did, then publishes its feeds and refreshes the caches.
 * @throws InvariantBroken, and nothing has happened; PositionTaken, PostgresUnavailable, LogUnavailable, PublisherFenced
 */
export async function commitStretch(one: OwnedPartition, stretch: FoldedStretch, parts: CommitParts): Promise<void> {
  const { partition, clockSeconds, blockNumber, position: fromOffset, slices: fromSlices } = one;
  const { facts, isWhole, nextOffset, folded, feeds, halts } = stretch;
  const { postgres, topics, meters } = parts;
  // The clock belongs to the position: a block counts as folded with its last slice.
  const now = isWhole ? folded : { clockSeconds, blockNumber };
  const slices = isWhole ? 0 : fromSlices + 1;

  await parts.onStep?.('before commit', partition);
  await saveProjection(postgres, {
    ...stretch.rows,
    partition,
    fromOffset,
    fromSlices,
    nextOffset,
    slices,
    blockNumber: now.blockNumber,
    clockSeconds: now.clockSeconds,
    pending: feeds.length === 0 ? undefined : packFeeds(feeds, topics),
  });
  const wasDue = now.clockSeconds >= one.nextDueSeconds;
  one.position = nextOffset;
  one.slices = slices;
  one.clockSeconds = now.clockSeconds;
  one.blockNumber = now.blockNumber;
  one.unpublished = feeds;
  one.halted = folded.halted;
  one.cache.store([...stretch.before].map(([address, before]) => folded.makers.get(address) ?? before));
  const looked = facts.some(({ fact }) => fact.type === 'BlockProcessed');
  if (looked) for (const address of stretch.before.keys()) one.untried.delete(address);
  for (const { maker } of halts) {
    one.untried.delete(maker);
    one.cache.forget(maker);
  }
  for (const { transition } of folded.happened) {
    if (transition.kind === 'OrderOpened') one.newestOffset = transition.offset;
  }
  for (const { dueAtSeconds } of folded.makers.values()) {
    one.nextDueSeconds = Math.min(one.nextDueSeconds, dueAtSeconds);
  }
  const committedAtMs = parts.nowMs();
  meters.committed(partition, isWhole ? facts : [], folded, committedAtMs - stretch.startedAtMs);

  await parts.onStep?.('after commit', partition);
  const refreshed = tellCaches(one, fromOffset, stretch, parts);
  if (isWhole) noteBlocks(one.mark, facts);
  try {
    await publishUnpublished(one);
    await markPosition(one, parts, parts.markIntervalMs);
    if (feeds.length > 0) meters.published(feeds.length, parts.nowMs() - committedAtMs);
  } finally {
    await refreshed;
  }
  await parts.onStep?.('after publish', partition);
  if (wasDue) one.nextDueSeconds = (await readNextDue(postgres, partition)) ?? Number.POSITIVE_INFINITY;
}

/** Says up to where the feeds are complete, where that is due. To be called when nothing is left unpublished. */
export async function markPosition(
  one: OwnedPartition,
  { nowMs, topics }: Pick<CommitParts, 'nowMs' | 'topics'>,
  intervalMs: number,
): Promise<void> {
  const { partition, mark, publisher } = one;
  const record = duePosition(mark, { partition, nowMs: nowMs(), intervalMs, topic: topics.resume });
  if (record === undefined) return;
  await publisher.publish([record]);
  mark.marked = mark.blockBefore;
  mark.markedAtMs = nowMs();
}

async function tellCaches(
  one: OwnedPartition,
  fromOffset: bigint,
  { folded, isWhole, nextOffset }: FoldedStretch,
  parts: CommitParts,
): Promise<void> {
  const { partition, held } = one;
  const changes = describeCacheChanges(folded.happened);
  one.held = isWhole ? undefined : holdChanges(held, fromOffset, changes);
  if (!isWhole) return;
  await parts.refreshCache(withHeldChanges(held, { partition, prevPos: fromOffset, newPos: nextOffset, changes }));
}
