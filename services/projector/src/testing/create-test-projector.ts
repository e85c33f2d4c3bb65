import { pause } from '@makerbook/contracts-primitives';
import type { Log } from '@makerbook/kafka';
import { createProjector, type Projector } from '../own/project-log.js';
import type { ProjectorParts } from '../parts.js';

export const testPartition = 0;
export const testPartitions = 4;

export interface TestProjectorParts
  extends Pick<ProjectorParts, 'store' | 'topics'>,
    Partial<Pick<ProjectorParts, 'meters' | 'wait'>> {
  readonly log: Pick<Log, 'endOffsets' | 'readRange' | 'readRecords' | 'readLastRecords'>;
  readonly createFencedPublisher: Log['createFencedPublisher'];
  readonly prefix?: string;
  readonly partitions?: number;
  readonly routingGraceSeconds?: number;
  readonly heldMax?: number;
  readonly batchFactsMax?: number;
  readonly commitTransitionsMax?: number;
  readonly commitFactsMax?: number;
  readonly quarantinedMakersMax?: number;
}

/** Makes a projector as a process has it. What is left out has no bound and no effect. */
export function createTestProjector(parts: TestProjectorParts): Projector {
  const { store, log, topics, createFencedPublisher } = parts;
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
    store,
    log: { ...log, createFencedPublisher },
    meters: parts.meters ?? {},
    wait: parts.wait ?? pause,
  });
}
