import type { RpcCounts } from '@makerbook/chain';
import { metrics } from '@makerbook/telemetry';
import type { CatchUpProgress, WatcherState } from './keep-position.js';
import type { WatchedSet } from './keep-watched-set.js';
import type { SweepState } from './sweep-pairs.js';

/** What the gauges are read from, when they are scraped. Times in milliseconds since 1970. */
export interface Measured {
  readonly nowMs: () => number;
  readonly startedAtMs: number;
  readonly partitions: number;
  readonly state: WatcherState;
  /** Undefined where there is no sweep. */
  readonly sweep: SweepState | undefined;
  readonly headNumber: () => number | undefined;
  readonly isSubscribed: () => boolean;
  /** Of the block loop. */
  readonly lastTurnAtMs: () => number;
  /** Partitions of the log that the block loop waits for. */
  readonly awaitedPartitions: () => readonly number[];
  readonly rpc: () => RpcCounts;
  readonly suspects: () => number;
  readonly unreadOrders: () => number;
  readonly oldestUnreadAtMs: () => number | undefined;
  readonly logRecords: () => { readonly records: number; readonly unreadable: number };
  readonly sizes: () => ReturnType<WatchedSet['sizes']>;
}

export interface WatcherMeters {
  readonly blockProcessed: (facts: number, tookMs: number | undefined) => void;
  /** A value of a token could not be read, and counts as zero. */
  readonly unreadable: (what: 'balance' | 'allowance') => void;
  readonly subscriptionBroken: () => void;
  /** A block that the node's topic did not hold came from JSON-RPC. */
  readonly gapFilled: () => void;
  /** The chain or the log is not what it was: the watcher halts. Alert on any. */
  readonly halted: () => void;
  /** Starts the gauges. */
  readonly observe: (measured: Measured) => void;
}

const secondsBuckets = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.5, 1, 2, 5, 10];

/**
 * The watcher's metrics; README.md says what each is for. Each name ends with its unit. Counters and gauges have a value
 * from the start: an alert cannot stand on what is not there.
 */
export function createMeters(): WatcherMeters {
  const meter = metrics.getMeter('chain-watcher');
  const name = (what: string) => `chain_watcher_${what}`;
  const described = (what: string, description: string) => ({ description, unit: what.split('_').at(-1) ?? '' });
  const count = (what: string, description: string) => meter.createCounter(name(what), described(what, description));

  const blockDuration = meter.createHistogram(name('block_duration_seconds'), {
    ...described('block_duration_seconds', 'From the moment a block was seen to the acknowledgement of its facts'),
    advice: { explicitBucketBoundaries: secondsBuckets },
  });
  const blocks = count('blocks', 'Blocks published');
  const facts = count('block_facts', 'Facts published with blocks');
  const unreadable = count('unreadable_values', 'Values of tokens that could not be read and count as zero');
  const gaps = count('topic_gap_blocks', 'Blocks that the Kaia node’s topic did not hold in time, and JSON-RPC gave');
  const broken = count('subscription_breaks', 'How often the WebSocket subscription to new blocks broke');
  const halts = count('halts', 'Halts because the chain or the log is not what it was');
  for (const counter of [blocks, facts, gaps, broken, halts]) counter.add(0);
  for (const what of ['balance', 'allowance'] as const) unreadable.add(0, { what });

  type Labelled = readonly (readonly [value: number, labels: Readonly<Record<string, string | number>>])[];
  const observed = (kind: 'Gauge' | 'Counter', what: string, description: string, read: () => number | Labelled) => {
    const observable = meter[`createObservable${kind}`](name(what), described(what, description));
    observable.addCallback((result) => {
      const values = read();
      if (typeof values === 'number') result.observe(values);
      else for (const [value, labels] of values) result.observe(value, labels);
    });
  };
  const gauge = (what: string, description: string, read: () => number | Labelled) =>
    observed('Gauge', what, description, read);
  const counter = (what: string, description: string, read: () => number | Labelled) =>
    observed('Counter', what, description, read);

  return {
    blockProcessed: (published, tookMs) => {
      blocks.add(1);
      facts.add(published);
      if (tookMs !== undefined) blockDuration.record(tookMs / 1000);
    },
    unreadable: (what) => unreadable.add(1, { what }),
    subscriptionBroken: () => broken.add(1),
    gapFilled: () => gaps.add(1),
    halted: () => halts.add(1),
    observe: (measured) => {
      const { nowMs, startedAtMs, state, sweep, headNumber, rpc, logRecords, sizes } = measured;
      const secondsSince = (atMs: number) => Math.max(0, (nowMs() - atMs) / 1000);
      gauge('head_block_number', 'Newest block that the node has', () => headNumber() ?? 0);
      gauge('processed_block_number', 'Newest block published to every partition', () => state.processed?.number ?? 0);
      gauge('lag_blocks', 'Blocks between the processed one and the head', () => {
        const head = headNumber();
        return head === undefined || state.processed === undefined ? 0 : Math.max(0, head - state.processed.number);
      });
      gauge('lag_seconds', 'Age of the processed block by its timestamp; before the first, time since the start', () =>
        secondsSince(state.processed === undefined ? startedAtMs : state.processed.timestamp * 1000),
      );
      gauge('loop_age_seconds', 'Time since the block loop last turned', () => secondsSince(measured.lastTurnAtMs()));
      gauge(
        'partition_wait_seconds',
        'How long the block loop has waited for a partition of the log, by partition',
        () => {
          const awaited = new Set(measured.awaitedPartitions());
          const waitedSeconds = secondsSince(measured.lastTurnAtMs());
          return Array.from({ length: measured.partitions }, (_, partition) => [
            awaited.has(partition) ? waitedSeconds : 0,
            { partition },
          ]);
        },
      );
      gauge('catch_up_ratio', 'How far catching up has come, from 0 to 1; 1 when it is done', () =>
        state.phase === 'FOLLOWING' ? 1 : ratioOf(state.catchUp),
      );
      gauge('watched_pairs', 'Pairs of maker and making token with open orders', () => sizes().pairs);
      gauge('watched_makers', 'Makers with open orders', () => sizes().makers);
      gauge('open_orders', 'Open orders', () => sizes().orders);
      gauge('known_hashes', 'Order hashes remembered, those of removed orders until they expire', () => sizes().hashes);
      gauge('unread_orders', 'New orders that wait to be read', measured.unreadOrders);
      gauge('unread_order_age_seconds', 'How long the oldest of them has waited; 0 when there is none', () => {
        const oldestAtMs = measured.oldestUnreadAtMs();
        return oldestAtMs === undefined ? 0 : secondsSince(oldestAtMs);
      });
      gauge(
        'suspect_values',
        'Values that could not be read when last asked, and are asked by themselves',
        measured.suspects,
      );
      gauge(
        'sweep_age_seconds',
        'Time since the last sweep over all pairs ended, or the start; 0 without a sweep',
        () => (sweep === undefined ? 0 : secondsSince(sweep.endedAtMs ?? startedAtMs)),
      );
      gauge(
        'sweep_duration_seconds',
        'How long the last sweep took; 0 before the first',
        () => (sweep?.tookMs ?? 0) / 1000,
      );
      counter('sweep_pairs', 'Pairs read by the sweep', () => sweep?.pairs ?? 0);
      counter('sweep_facts', 'Changes that the sweep found and no log had told', () => sweep?.facts ?? 0);
      counter('rpc_calls', 'JSON-RPC calls', () => rpc().calls);
      counter('rpc_requests', 'HTTP requests to nodes', () => rpc().requests);
      counter('rpc_failures', 'HTTP requests that were not answered in time, or not with sense, by endpoint', () =>
        [...rpc().failuresByEndpoint].map(([endpoint, failures]) => [failures, { endpoint }]),
      );
      counter('rpc_refusals', 'JSON-RPC calls answered with an error', () => rpc().refusals);
      counter('rpc_failovers', 'Calls passed on to the next endpoint', () => rpc().failovers);
      gauge('open_subscriptions', '1 while the WebSocket subscription to new blocks is open, else 0', () =>
        measured.isSubscribed() ? 1 : 0,
      );
      counter('log_records', 'Records read from the log', () => logRecords().records);
      counter('log_unreadable_records', 'Records of the log that could not be read', () => logRecords().unreadable);
    },
  };
}

/** Half for the missed blocks, half for the makers; all for blocks that are followed instead. */
function ratioOf(progress: CatchUpProgress | undefined): number {
  if (progress === undefined) return 0;
  const { step, done, total } = progress;
  const ratio = total === 0 ? 0 : done / total;
  if (step === 'followed') return ratio;
  return step === 'blocks' ? ratio / 2 : (1 + ratio) / 2;
}
