import type { UnixMs } from '@makerbook/contracts-primitives';
import { createInstruments } from '@makerbook/telemetry';
import type { Changes } from './commit/gather-changes.js';
import type { PartitionState } from './fold/partition-state.js';
import type { LoggedFact } from './fold/read-facts.js';

export type ProjectorMeters = ReturnType<typeof createMetrics>;

const secondsBuckets = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];
const delayBuckets = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15, 60];
const FEED_DELAY =
  'Time until the feed has a fact, by type: OrderSubmitted from a POST to the first ACTIVE, OrderCancelled from a DELETE, BlockProcessed from the time of the block';
const countBuckets = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];

/**
 * The projector's metrics. Each name ends with its unit.
 * @param unixMs milliseconds since 1970
 */
export function createMetrics(unixMs: () => UnixMs) {
  const { counter, histogram, gauge } = createInstruments('projector');
  const commitFacts = histogram('commit_facts', 'Facts committed at once', countBuckets);
  const commit = histogram('commit_duration_seconds', 'Time of a commit, with waiting for others', secondsBuckets);
  const publish = histogram('publish_duration_seconds', 'Time to publish a batch', secondsBuckets);
  const delay = histogram('feed_delay_seconds', FEED_DELAY, delayBuckets);
  const facts = counter('facts_total', 'Facts folded and committed, by type');
  const transitions = counter(
    'transitions_total',
    'Transitions of orders and makers, by kind, and by the new status or the reason',
  );
  const messages = counter('feed_messages_total', 'Feed messages published');
  const parked = counter('parked_messages_total', 'Messages parked');
  const taken = counter('partitions_taken_total', 'Partitions taken: assigned, or again after a failure');
  const pruned = counter('pruned_rows_total', 'Rows deleted because they were too old');
  const newestFactMs = new Map<number, number>();
  /** The time may come from a clock that is ahead of this one. */
  const secondsSince = (timeMs: number) => Math.max(0, unixMs() - timeMs) / 1000;
  for (const shownAtOnce of [parked, taken, pruned]) shownAtOnce.add(0);

  return {
    committed: (partition: number, changes: Changes, tookMs: number) => {
      commit.record(tookMs / 1000);
      commitFacts.record(changes.facts);
      for (const [type, count] of changes.types) facts.add(count, { type });
      for (const [happened, count] of changes.kinds) transitions.add(count, labelsOf(happened));
      if (changes.newestFactMs !== undefined) newestFactMs.set(partition, changes.newestFactMs);
    },
    published: (count: number, tookMs: number) => {
      publish.record(tookMs / 1000);
      messages.add(count);
    },
    /** Call it when the messages of the facts are published for the first time. */
    fed: (published: readonly LoggedFact[]) => {
      for (const { fact, timeMs } of published) {
        const { type } = fact;
        if (type === 'OrderCancelled' || type === 'BlockProcessed') delay.record(secondsSince(timeMs), { type });
      }
    },
    activated: (orders: Changes['activated']) => {
      for (const { acceptedAtMs } of orders) delay.record(secondsSince(acceptedAtMs), { type: 'OrderSubmitted' });
    },
    /** Call it when a partition is taken: assigned, or again after a failure. */
    taken: () => taken.add(1),
    parked: () => parked.add(1),
    pruned: (rows: number) => pruned.add(rows),
    /**
     * Starts the gauges.
     * @param states the states of the owned partitions
     * @param lag messages between the rows and the log's end, keyed by partition
     */
    observe: (states: () => readonly PartitionState[], lag: () => ReadonlyMap<number, bigint>) => {
      const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
      gauge('lag_messages', 'Messages between the rows and the end of the log, by partition', () =>
        Array.from(lag(), ([partition, waiting]) => [Number(waiting), { partition }]),
      );
      gauge('lag_seconds', 'Age of the newest committed fact while facts wait, else 0; by partition', () =>
        Array.from(lag(), ([partition, waiting]) => {
          const newest = newestFactMs.get(partition);
          return [waiting === 0n || newest === undefined ? 0 : secondsSince(newest), { partition }];
        }),
      );
      gauge('feed_age_seconds', 'Age of the newest block on the feed, the clock of routers, by partition', () =>
        states()
          .filter(({ clock }) => clock.block >= 0)
          .map(({ rules, clock }) => [secondsSince(clock.seconds * 1000), { partition: rules.partition }]),
      );
      gauge('partitions', 'Partitions owned', () => states().length);
      gauge('held_orders', 'Makers and open orders held in memory', () =>
        sum(states().map(({ makers }) => makers.size())),
      );
      gauge('quarantined_makers', 'Makers that cannot be folded, and whose orders are out of the book', () =>
        sum(states().map(({ quarantined }) => quarantined.size)),
      );
    },
  };
}

/** @param happened a key of `Changes.kinds` */
function labelsOf(happened: string) {
  const [kind = '', outcome = ''] = happened.split(':');
  return { kind, outcome };
}
