import type { TopicNames } from '@makerbook/contracts-events';
import { pause } from '@makerbook/contracts-primitives';
import type { FencedPublisher, Log } from '@makerbook/kafka';
import { type Postgres, PostgresUnavailable } from '@makerbook/postgres';
import type { RebuildSettings } from '../env.js';
import { createProjector } from '../own/project-log.js';
import { openProjectionStore } from '../store/open-store.js';
import { readPositions } from '../store/swap-tables.js';

/** The parts of a fold that has rows of its own. */
export interface FoldParts {
  readonly log: Log;
  /** Takes the rows; nobody else writes there. */
  readonly postgres: Postgres;
  readonly topics: TopicNames;
  readonly settings: RebuildSettings;
}

/** The options of a fold. */
export interface FoldOptions {
  /** Partitions at once, all unless given. They share the orders in memory: with fewer, makers are read less often. */
  readonly atOnce?: number;
  /** Called with the number of facts of each commit. */
  readonly onProgress?: (facts: number) => void;
  /** True drops messages that the feeds lack. Otherwise the fold fails at the first of them. */
  readonly hasNoFeeds?: boolean;
}

/**
 * Folds each partition from its rows up to the given offset. Resolves when all rows are committed. It publishes nothing
 * and parks nothing.
 * @throws PostgresUnavailable if the last commit of a partition failed
 * @param targets keyed by partition; not beyond what the feeds hold, which positions of live rows never are
 */
export async function foldLog(
  targets: readonly bigint[],
  { log, postgres, topics, settings }: FoldParts,
  { atOnce = targets.length, onProgress = () => undefined, hasNoFeeds = false }: FoldOptions = {},
): Promise<void> {
  const held = Math.floor((settings.HELD_ORDERS_PER_PARTITION_MAX * targets.length) / atOnce);
  const projector = createProjector({
    settings: { ...settings, HELD_ORDERS_PER_PARTITION_MAX: held },
    topics,
    store: openProjectionStore(postgres, settings.COMMITS_AT_ONCE_MAX),
    log: { ...log, createFencedPublisher: () => (hasNoFeeds ? droppingPublisher : silentPublisher) },
    meters: { committed: (_partition, { facts }) => onProgress(facts) },
    wait: pause,
  });
  const context = { assertOwned: () => undefined, park: async () => undefined };
  const left = targets.entries();
  const foldNext = async () => {
    for (const [partition, to] of left) {
      // The projector reads the log from the rows to the offset itself.
      await projector.handleBatch({ partition, records: [], fromOffset: to, nextOffset: to }, context);
      await projector.onRevoked(partition);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, foldNext));
  // Giving up a partition commits what is left, but does not tell whether that worked.
  const reached = await readPositions(postgres.query);
  const isReached = targets.every((to, partition) => reached !== undefined && (reached[partition] ?? 0n) >= to);
  if (!isReached) {
    throw new PostgresUnavailable(`the last facts were not committed: rows are at ${reached ?? 'a part of a block'}`);
  }
}

const refuse = async () => {
  throw new Error('the feeds lack what the live rows hold: they belong to another log, or were created again');
};
const silentPublisher: FencedPublisher = {
  takeOver: async () => undefined,
  publish: refuse,
  append: refuse,
  close: async () => undefined,
};
const drop = async () => [];
const droppingPublisher: FencedPublisher = { ...silentPublisher, publish: drop, append: drop };
