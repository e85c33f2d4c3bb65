import { type Log, pause } from '@makerbook/kafka';
import type { ProjectionStore } from '@makerbook/postgres';
import { createProjector, type Projector } from '../own/project-log.js';
import type { ProjectorParts } from '../parts.js';

export const testPartition = 0;
export const testPartitions = 4;

/** A step at which a test may stop the process by throwing. */
export type Step = 'before publish' | 'after publish' | 'before commit' | 'after commit';

export interface TestProjectorParts
  extends Pick<ProjectorParts, 'store' | 'topics'>,
    Partial<Pick<ProjectorParts, 'meters' | 'wait'>> {
  readonly log: Pick<Log, 'endOffsets' | 'readRange' | 'readLastRecords'>;
  readonly createFencedPublisher: Log['createFencedPublisher'];
  readonly prefix?: string;
  readonly partitions?: number;
  readonly routingGraceSeconds?: number;
  readonly heldMax?: number;
  readonly batchFactsMax?: number;
  readonly commitTransitionsMax?: number;
  readonly commitFactsMax?: number;
  readonly quarantinedMakersMax?: number;
  readonly onStep?: (step: Step) => Promise<void> | void;
}

/** For tests: a projector as a process of its own would be; what is left out has no bound and no effect. */
export function createTestProjector(parts: TestProjectorParts): Projector {
  const { store, log, topics, createFencedPublisher, onStep } = parts;
  return createProjector({
    topics,
    settings: {
      TOPIC_PREFIX: parts.prefix ?? '',
      PARTITIONS: parts.partitions ?? testPartitions,
      ROUTING_GRACE_SECONDS: parts.routingGraceSeconds ?? 60,
      HELD_ORDERS_PER_PARTITION_MAX: parts.heldMax ?? 1_000,
      BATCH_FACTS_MAX: parts.batchFactsMax ?? 1_000,
      COMMIT_TRANSITIONS_MAX: parts.commitTransitionsMax ?? 1_000_000,
      COMMIT_FACTS_MAX: parts.commitFactsMax ?? 1_000_000,
      COMMITS_AT_ONCE_MAX: 2,
      QUARANTINED_MAKERS_MAX: parts.quarantinedMakersMax ?? 10,
    },
    store: onStep === undefined ? store : stepByStep(store, onStep),
    log: {
      ...log,
      createFencedPublisher: (options) => {
        const publisher = createFencedPublisher(options);
        if (onStep === undefined) return publisher;
        return {
          ...publisher,
          publish: async (records) => {
            await onStep('before publish');
            const appended = await publisher.publish(records);
            await onStep('after publish');
            return appended;
          },
        };
      },
    },
    meters: parts.meters ?? {},
    wait: parts.wait ?? pause,
  });
}

/** What stops at a step reads nothing any more: its memory does not know of the commit. */
function stepByStep(store: ProjectionStore, onStep: (step: Step) => Promise<void> | void): ProjectionStore {
  let stopped: unknown;
  const reach = async (step: Step) => {
    try {
      await onStep(step);
    } catch (error) {
      stopped = error;
      throw error;
    }
  };
  const read = async <T>(reading: Promise<T>) => {
    const rows = await reading;
    if (stopped !== undefined) throw stopped;
    return rows;
  };
  return {
    takeProjection: store.takeProjection,
    readMakers: (partition, makers) => read(store.readMakers(partition, makers)),
    findKnownHashes: (partition, hashes) => read(store.findKnownHashes(partition, hashes)),
    saveProjection: async (commit) => {
      await reach('before commit');
      await store.saveProjection(commit);
      await reach('after commit');
    },
  };
}
