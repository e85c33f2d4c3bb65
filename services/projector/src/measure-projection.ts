import { metrics } from '@makerbook/telemetry';
import type { ProjectionMeters } from './project-events.js';

/** What the gauges are read from, when they are scraped. */
export interface ProjectionState {
  /** Messages between the projection and the log's end, by partition. */
  readonly lag: () => ReadonlyMap<number, bigint>;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  readonly ownedPartitions: () => number;
  readonly cachedOrders: () => number;
}

export interface ProjectorMeters extends ProjectionMeters {
  readonly refreshed: (outcome: string) => void;
  readonly parked: () => void;
  /** Starts the gauges. */
  readonly observe: (state: ProjectionState) => void;
}

const millisecondBuckets = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
const countBuckets = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];

/** The projector's metrics. Each name ends with its unit; README.md says what each is for. */
export function createMeters(): ProjectorMeters {
  const meter = metrics.getMeter('projector');
  const histogram = (name: string, unit: string, boundaries: number[], description: string) =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: boundaries } });
  const batchFacts = histogram('makerbook_projector_batch_facts', '', countBuckets, 'Facts committed at once');
  const commitMs = histogram(
    'makerbook_projector_commit_milliseconds',
    '',
    millisecondBuckets,
    'From the first read for a batch to its commit',
  );
  const publishMs = histogram(
    'makerbook_projector_publish_milliseconds',
    '',
    millisecondBuckets,
    'Publishing the feeds of a commit',
  );
  const facts = meter.createCounter('makerbook_projector_facts', { description: 'Facts folded, by type' });
  const transitions = meter.createCounter('makerbook_projector_transitions', {
    description: 'What happened to orders and makers, by kind',
  });
  const published = meter.createCounter('makerbook_projector_feed_messages', {
    description: 'Feed messages published',
  });
  const parked = meter.createCounter('makerbook_projector_parked_messages', { description: 'Messages set aside' });
  const taken = meter.createCounter('makerbook_projector_partitions_taken', {
    description: 'Partitions taken, at an assignment or again after a failure',
  });
  const refreshed = meter.createCounter('makerbook_projector_cache_refreshes', {
    description: 'Refreshes of Redis, by outcome: applied, reset, skipped',
  });
  const newestFactMs = new Map<number, number>();

  return {
    committed: (partition, committedFacts, folded, tookMs) => {
      commitMs.record(tookMs);
      batchFacts.record(committedFacts.length);
      for (const { fact } of committedFacts) facts.add(1, { type: fact.type });
      for (const { transition } of folded.happened) transitions.add(1, { kind: transition.kind });
      const last = committedFacts.at(-1);
      if (last !== undefined) newestFactMs.set(partition, last.timeMs);
    },
    published: (messages, tookMs) => {
      publishMs.record(tookMs);
      published.add(messages);
    },
    taken: () => taken.add(1),
    refreshed: (outcome) => refreshed.add(1, { outcome }),
    parked: () => parked.add(1),
    observe: (state) => {
      const lag = meter.createObservableGauge('makerbook_projector_lag_messages', {
        description: 'Messages between the projection and the end of the log',
      });
      lag.addCallback((result) => {
        for (const [partition, messages] of state.lag()) result.observe(Number(messages), { partition });
      });
      const age = meter.createObservableGauge('makerbook_projector_lag_seconds', {
        description: 'Age of the newest folded fact where facts are waiting, else 0',
      });
      age.addCallback((result) => {
        for (const [partition, messages] of state.lag()) {
          const newest = newestFactMs.get(partition);
          const seconds = messages === 0n || newest === undefined ? 0 : (state.nowMs() - newest) / 1000;
          result.observe(Math.max(0, seconds), { partition });
        }
      });
      const owned = meter.createObservableGauge('makerbook_projector_partitions', { description: 'Partitions owned' });
      owned.addCallback((result) => result.observe(state.ownedPartitions()));
      const cached = meter.createObservableGauge('makerbook_projector_cached_orders', {
        description: 'Makers and open orders held in memory',
      });
      cached.addCallback((result) => result.observe(state.cachedOrders()));
    },
  };
}
