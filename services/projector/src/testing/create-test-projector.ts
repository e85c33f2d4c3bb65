import { setTimeout as pause } from 'node:timers/promises';
import { createSemaphore } from '../commit/semaphore.js';
import { createProjector, type Projector, type ProjectorParts } from '../own/project-log.js';

export const testPartition = 0;
export const testPartitions = 4;

type Given = Pick<ProjectorParts, 'store' | 'log' | 'createFencedPublisher' | 'topics'>;

/** For tests: a projector as a process of its own would be; what is left out has no bound and no effect. */
export function createTestProjector(parts: Given & Partial<ProjectorParts>): Projector {
  return createProjector({
    transactionalIdPrefix: '',
    partitions: testPartitions,
    routingGraceSeconds: 60,
    heldMax: 1_000,
    batchFactsMax: 1_000,
    commitTransitionsMax: 1_000_000,
    commitFactsMax: 1_000_000,
    quarantinedMakersMax: 10,
    reads: createSemaphore(2),
    meters: {},
    wait: (ms, signal) => pause(ms, undefined, { signal }).catch(() => undefined),
    ...parts,
  });
}
