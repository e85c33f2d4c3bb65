import { metrics } from '@makerbook/telemetry';
import type { ProjectionMeters } from './commit-stretch.js';

/** What the gauges are read from, when they are scraped. */
export interface ProjectionState {
  /** Messages between the projection and the log's end, by partition. */
  readonly lag: () => ReadonlyMap<number, bigint>;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  readonly ownedPartitions: () => number;
  readonly cachedOrders: () => number;
  readonly haltedMakers: () => number;
}

export interface ProjectorMeters extends ProjectionMeters {
  readonly refreshed: (outcome: string) => void;
  readonly parked: () => void;
  /** Starts the gauges. */
  readonly observe: (state: ProjectionState) => void;
}

const secondsBuckets = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];
const countBuckets = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];

/** The projector's metrics. Each name ends with its unit; README.md says what each is for. */
export function createMeters(): ProjectorMeters {
  const meter = metrics.getMeter('projector');
  const histogram = (name: string, unit: string, boundaries: number[], description: string) =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: boundaries } });
  const batchFacts = histogram('projector_batch_facts', '', countBuckets, 'Facts committed at once');
  const commit = histogram(
    'projector_commit_duration_seconds',
    's',
    secondsBuckets,
    'From the first read for a batch to its commit',
  );
  const publish = histogram(
    'projector_publish_duration_seconds',
    's',
    secondsBuckets,
    'Publishing the feeds of a commit',
  );
  const facts = meter.createCounter('projector_facts_total', { description: 'Facts folded, by type' });
  const transitions = meter.createCounter('projector_transitions_total', {
    description: 'What happened to orders and makers, by kind',
  });
  const published = meter.createCounter('projector_feed_messages_total', {
    description: 'Feed messages published',
  });
  const parked = meter.createCounter('projector_parked_messages_total', { description: 'Messages set aside' });
  const taken = meter.createCounter('projector_partitions_taken_total', {
    description: 'Partitions taken, at an assignment or again after a failure',
  });
  const refreshed = meter.createCounter('projector_cache_refreshes_total', {
    description: 'Refreshes of Redis, by outcome: applied, reset, skipped',
  });
  const newestFactMs = new Map<number, number>();

  return {
    committed: (partition, committedFacts, folded, tookMs) => {
      commit.record(tookMs / 1000);
      batchFacts.record(committedFacts.length);
      for (const { fact } of committedFacts) facts.add(1, { type: fact.type });
      for (const { transition } of folded.happened) transitions.add(1, { kind: transition.kind });
      const last = committedFacts.at(-1);
      if (last !== undefined) newestFactMs.set(partition, last.timeMs);
    },
    published: (messages, tookMs) => {
      publish.record(tookMs / 1000);
      published.add(messages);
    },
    taken: () => taken.add(1),
    refreshed: (outcome) => refreshed.add(1, { outcome }),
    parked: () => parked.add(1),
    observe: (state) => {
      const lag = meter.createObservableGauge('projector_lag_messages', {
        description: 'Messages between the projection and the end of the log',
      });
      lag.addCallback((result) => {
        for (const [partition, messages] of state.lag()) result.observe(Number(messages), { partition });
      });
      const age = meter.createObservableGauge('projector_lag_seconds', {
        description: 'Age of the newest folded fact where facts are waiting, else 0',
      });
      age.addCallback((result) => {
        for (const [partition, messages] of state.lag()) {
          const newest = newestFactMs.get(partition);
          const seconds = messages === 0n || newest === undefined ? 0 : (state.nowMs() - newest) / 1000;
          result.observe(Math.max(0, seconds), { partition });
        }
      });
      const owned = meter.createObservableGauge('projector_partitions', { description: 'Partitions owned' });
      owned.addCallback((result) => result.observe(state.ownedPartitions()));
      const cached = meter.createObservableGauge('projector_cached_orders', {
        description: 'Makers and open orders held in memory',
      });
      cached.addCallback((result) => result.observe(state.cachedOrders()));
      const halted = meter.createObservableGauge('projector_halted_makers', {
        description: 'Makers for whom a block could not be folded, and whose orders are out of the book',
      });
      halted.addCallback((result) => result.observe(state.haltedMakers()));
    },
  };
}
