import type { TopicNames } from '@makerbook/contracts-events';
import type { Log } from '@makerbook/kafka';
import type { FoldSettings } from './env.js';
import type { ProjectorMeters } from './metrics.js';
import type { ProjectionStore } from './store/open-store.js';

/** The parts that the flow of a partition works with. */
export interface ProjectorParts {
  readonly settings: FoldSettings;
  readonly topics: TopicNames;
  readonly store: ProjectionStore;
  readonly log: Pick<Log, 'endOffsets' | 'readRange' | 'readRecords' | 'readLastRecords' | 'createFencedPublisher'>;
  readonly meters: Partial<ProjectorMeters>;
  /** Resolves after the time, or once the signal is aborted. */
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<void>;
}
