import { setTimeout as pause } from 'node:timers/promises';
import type { TopicNames } from '@makerbook/contracts-events';
import type { FencedPublisher, Log } from '@makerbook/kafka';
import { openProjectionStore, type Postgres } from '@makerbook/postgres';
import { createSemaphore } from '../commit/semaphore.js';
import type { RebuildSettings } from '../env.js';
import { foldBounds } from '../own/fold-bounds.js';
import { createProjector, type Projector } from '../own/project-log.js';

/** The parts of a fold of the log into its own rows. */
export interface FoldParts {
  readonly log: Log;
  /** Takes the rows; nobody else writes there. */
  readonly postgres: Postgres;
  readonly topics: TopicNames;
  readonly settings: RebuildSettings;
}

/** Partitions that are folded at once: while one waits for Postgres another one computes. */
const PARTITIONS_AT_ONCE = 4;

/**
 * Folds each partition from where its rows are up to the given offset, and resolves when all rows are committed. It publishes
 * nothing and parks nothing.
 * @param targets by partition, not beyond what the feeds hold: the positions of the live rows are not
 * @param onProgress is given the number of facts of each commit
 */
export async function foldLog(
  targets: readonly bigint[],
  parts: FoldParts,
  onProgress: (facts: number) => void = () => undefined,
): Promise<void> {
  const projector = createSilentProjector(parts, onProgress);
  const hold = { assertOwned: () => undefined, park: async () => undefined };
  const turns = createSemaphore(PARTITIONS_AT_ONCE);
  const fold = async (to: bigint, partition: number) => {
    // The projector itself reads the log from the rows to the offset.
    await projector.handleBatch({ partition, records: [], fromOffset: to, nextOffset: to }, hold);
    await projector.onRevoked(partition);
  };
  await Promise.all(targets.map((to, partition) => turns.run(() => fold(to, partition))));
}

function createSilentProjector(
  { log, postgres, topics, settings }: FoldParts,
  onProgress: (facts: number) => void,
): Projector {
  return createProjector({
    store: openProjectionStore(postgres, settings.COMMITS_AT_ONCE_MAX),
    log,
    createFencedPublisher: () => silentPublisher,
    topics,
    transactionalIdPrefix: '',
    ...foldBounds(settings),
    reads: createSemaphore(2),
    meters: { committed: (_partition, { facts }) => onProgress(facts) },
    wait: (ms, signal) => pause(ms, undefined, { signal }).catch(() => undefined),
  });
}

const refuse = async () => {
  throw new Error('the feeds lack what the live rows hold: they belong to another log, or were made anew');
};
const silentPublisher: FencedPublisher = {
  takeOver: async () => undefined,
  publish: refuse,
  append: refuse,
  close: async () => undefined,
};
