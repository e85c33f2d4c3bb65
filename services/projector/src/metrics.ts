import { metrics } from '@makerbook/telemetry';
import type { Changes } from './commit/gather-changes.js';
import type { LoggedFact } from './fold/read-facts.js';

/** What the gauges are read from, when they are scraped. */
export interface ProjectionState {
  /** Messages between the rows and the log's end, by partition. */
  readonly lag: () => ReadonlyMap<number, bigint>;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  readonly ownedPartitions: () => number;
  readonly heldOrders: () => number;
  readonly quarantinedMakers: () => number;
  /** Time of the newest block that was folded, in seconds since 1970, by partition. */
  readonly newestBlocks: () => ReadonlyMap<number, number>;
}

export interface ProjectorMeters {
  readonly committed: (partition: number, changes: Changes, tookMs: number) => void;
  readonly published: (messages: number, tookMs: number) => void;
  /** What the facts led to has been published for the first time. @param nowMs milliseconds since 1970 */
  readonly fed: (facts: readonly LoggedFact[], nowMs: number) => void;
  /** A partition was taken: assigned, or taken again after a failure. */
  readonly taken: () => void;
  readonly parked: () => void;
  readonly pruned: (rows: number) => void;
  /** Starts the gauges. */
  readonly observe: (state: ProjectionState) => void;
}

const secondsBuckets = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];
const delayBuckets = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15, 60];
const countBuckets = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];

/** The projector's metrics. Each name ends with its unit; README.md describes each. */
export function createMetrics(): ProjectorMeters {
  const meter = metrics.getMeter('projector');
  const counter = (name: string, description: string) => meter.createCounter(name, { description });
  const histogram = (name: string, unit: string, boundaries: number[], description: string) =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: boundaries } });
  const commitFacts = histogram('projector_commit_facts', '', countBuckets, 'Facts committed at once');
  const commit = histogram('projector_commit_duration_seconds', 's', secondsBuckets, 'Committing rows');
  const publish = histogram('projector_publish_duration_seconds', 's', secondsBuckets, 'Publishing the feeds');
  const delay = histogram('projector_feed_delay_seconds', 's', delayBuckets, 'From a fact to its messages on the feed');
  const facts = counter('projector_facts_total', 'Facts folded and committed, by type');
  const transitions = counter('projector_transitions_total', 'What happened to orders and makers, by kind');
  const published = counter('projector_feed_messages_total', 'Feed messages published');
  const parked = counter('projector_parked_messages_total', 'Messages set aside');
  const taken = counter('projector_partitions_taken_total', 'Partitions taken: assigned, or again after a failure');
  const pruned = counter('projector_pruned_rows_total', 'Rows deleted because they were too old');
  const newestFactMs = new Map<number, number>();
  for (const shownAtOnce of [parked, taken, pruned]) shownAtOnce.add(0);

  return {
    committed: (partition, changes, tookMs) => {
      commit.record(tookMs / 1000);
      commitFacts.record(changes.facts);
      for (const [type, count] of changes.types) facts.add(count, { type });
      for (const [kind, count] of changes.kinds) transitions.add(count, { kind });
      if (changes.newestFactMs !== undefined) newestFactMs.set(partition, changes.newestFactMs);
    },
    published: (messages, tookMs) => {
      publish.record(tookMs / 1000);
      published.add(messages);
    },
    taken: () => taken.add(1),
    parked: () => parked.add(1),
    pruned: (rows) => pruned.add(rows),
    fed: (published, nowMs) => {
      for (const { fact, timeMs } of published) {
        if (fact.type !== 'OrderCancelled' && fact.type !== 'BlockProcessed') continue;
        delay.record(Math.max(0, nowMs - timeMs) / 1000, { type: fact.type });
      }
    },
    observe: (state) => {
      const gauge = (name: string, description: string) => meter.createObservableGauge(name, { description });
      gauge('projector_lag_messages', 'Messages between the rows and the end of the log').addCallback((result) => {
        for (const [partition, messages] of state.lag()) result.observe(Number(messages), { partition });
      });
      gauge('projector_lag_seconds', 'Age of the newest committed fact where facts are waiting, else 0').addCallback(
        (result) => {
          for (const [partition, messages] of state.lag()) {
            const newest = newestFactMs.get(partition);
            const seconds = messages === 0n || newest === undefined ? 0 : (state.nowMs() - newest) / 1000;
            result.observe(Math.max(0, seconds), { partition });
          }
        },
      );
      gauge('projector_feed_age_seconds', 'Age of the newest block on the feed').addCallback((result) => {
        for (const [partition, seconds] of state.newestBlocks()) {
          result.observe(Math.max(0, state.nowMs() / 1000 - seconds), { partition });
        }
      });
      gauge('projector_partitions', 'Partitions owned').addCallback((result) =>
        result.observe(state.ownedPartitions()),
      );
      gauge('projector_held_orders', 'Makers and open orders held in memory').addCallback((result) =>
        result.observe(state.heldOrders()),
      );
      gauge(
        'projector_quarantined_makers',
        'Makers that cannot be folded, and whose orders are out of the book',
      ).addCallback((result) => result.observe(state.quarantinedMakers()));
    },
  };
}
