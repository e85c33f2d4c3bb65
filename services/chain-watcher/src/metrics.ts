import type { RpcCounts } from '@makerbook/chain';
import { metrics } from '@makerbook/telemetry';
import type { Vitals } from './health.js';
import type { CatchUpProgress } from './observe/holder-work.js';
import type { Work } from './work.js';

/** What the gauges are read from, when they are scraped. Times in milliseconds of a clock that never goes back. */
export interface Measured {
  readonly nowMs: () => number;
  /** Milliseconds since 1970. */
  readonly unixMs: () => number;
  readonly startedAtMs: number;
  readonly partitions: number;
  readonly work: Work;
  readonly vitals: Pick<Vitals, 'lastTurnAtMs'>;
  readonly isSweeping: boolean;
  readonly headNumber: () => number | undefined;
  readonly isSubscribed: () => boolean;
  readonly rpc: () => RpcCounts;
  readonly suspects: () => number;
}

export interface WatcherMeters {
  readonly blockProcessed: (facts: number, tookMs: number | undefined) => void;
  /** A value of a token could not be read, and counts as zero. */
  readonly unreadable: (what: 'balance' | 'allowance') => void;
  readonly tookOver: () => void;
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
 * The watcher's metrics; README.md describes each. Each name ends with its unit. Counters and gauges have a value
 * from the start: an alert cannot be written on a series that does not exist.
 */
export function createMetrics(): WatcherMeters {
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
  const takeOvers = count('take_overs', 'How often this watcher took over');
  const broken = count('subscription_breaks', 'How often the WebSocket subscription to new blocks broke');
  const halts = count('halts', 'Halts because the chain or the log is not what it was');
  for (const counter of [blocks, facts, gaps, takeOvers, broken, halts]) counter.add(0);
  for (const what of ['balance', 'allowance'] as const) unreadable.add(0, { what });

  return {
    blockProcessed: (published, tookMs) => {
      blocks.add(1);
      facts.add(published);
      if (tookMs !== undefined) blockDuration.record(tookMs / 1000);
    },
    unreadable: (what) => unreadable.add(1, { what }),
    tookOver: () => takeOvers.add(1),
    subscriptionBroken: () => broken.add(1),
    gapFilled: () => gaps.add(1),
    halted: () => halts.add(1),
    observe: (measured) => {
      const observed = observeWith((what, description) => described(what, description), meter, name);
      observeBlocks(measured, observed);
      observeOrders(measured, observed);
      observeSweep(measured, observed);
      observeNodes(measured, observed);
    },
  };
}

type Labelled = readonly (readonly [value: number, labels: Readonly<Record<string, string | number>>])[];
type Read = () => number | Labelled;

/** Makes observable metrics. */
interface Observed {
  readonly gauge: (what: string, description: string, read: Read) => void;
  readonly counter: (what: string, description: string, read: Read) => void;
}

function observeWith(
  described: (what: string, description: string) => { description: string; unit: string },
  meter: ReturnType<typeof metrics.getMeter>,
  name: (what: string) => string,
): Observed {
  const observe = (kind: 'Gauge' | 'Counter', what: string, description: string, read: Read) => {
    const observable = meter[`createObservable${kind}`](name(what), described(what, description));
    observable.addCallback((result) => {
      const values = read();
      if (typeof values === 'number') result.observe(values);
      else for (const [value, labels] of values) result.observe(value, labels);
    });
  };
  return {
    gauge: (what, description, read) => observe('Gauge', what, description, read),
    counter: (what, description, read) => observe('Counter', what, description, read),
  };
}

function observeBlocks(measured: Measured, { gauge }: Observed): void {
  const { nowMs, unixMs, startedAtMs, headNumber, work, vitals, partitions } = measured;
  const { state, followed } = work;
  const secondsSince = (atMs: number) => Math.max(0, (nowMs() - atMs) / 1000);
  const newest = () => followed.newestBlock();
  gauge('holders', '1 while this watcher publishes, else 0', () => (state.role === 'HOLDER' ? 1 : 0));
  gauge('head_block_number', 'Newest block that the node has', () => headNumber() ?? 0);
  gauge('processed_block_number', 'Newest block of the log, by any watcher', () => newest()?.number ?? 0);
  gauge('lag_blocks', 'Blocks between the newest one of the log and the head', () => {
    const head = headNumber();
    const block = newest();
    return head === undefined || block === undefined ? 0 : Math.max(0, head - block.number);
  });
  gauge(
    'lag_seconds',
    'Age of the newest block of the log by its timestamp; before the first, time since the start',
    () => {
      const block = newest();
      return block === undefined ? secondsSince(startedAtMs) : Math.max(0, unixMs() / 1000 - block.timestamp);
    },
  );
  gauge('loop_age_seconds', 'Time since the block loop last went on; 0 while another watcher publishes', () =>
    state.role === 'HOLDER' ? secondsSince(vitals.lastTurnAtMs) : 0,
  );
  gauge('partition_wait_seconds', 'How long a partition of the log lacks the newest block, by partition', () =>
    Array.from({ length: partitions }, (_, partition) => {
      const view = followed.partitions[partition];
      const isBehind = (view?.block?.number ?? -1) < (newest()?.number ?? -1);
      return [isBehind && view !== undefined ? secondsSince(view.blockReadAtMs) : 0, { partition }];
    }),
  );
  gauge('catch_up_ratio', 'How far catching up has come, from 0 to 1; 1 when it is done, and for a standby', () =>
    state.position === undefined || state.position.phase === 'FOLLOWING' ? 1 : ratioOf(state.position.catchUp),
  );
}

function observeOrders({ nowMs, work, suspects }: Measured, { gauge, counter }: Observed): void {
  const { watched, followed } = work;
  gauge('watched_pairs', 'Pairs of maker and making token with watched orders', () => watched.sizes().pairs);
  gauge('watched_makers', 'Makers with watched orders', () => watched.sizes().makers);
  gauge('watched_orders', 'Watched orders', () => watched.sizes().orders);
  gauge('unread_orders', 'New orders that wait to be read', () => watched.unread.size);
  gauge('unread_order_age_seconds', 'How long the oldest of them has waited; 0 when there is none', () => {
    const oldest = watched.unread.values().next().value;
    return oldest === undefined ? 0 : Math.max(0, (nowMs() - oldest.sinceMs) / 1000);
  });
  gauge('suspect_values', 'Values that could not be read when last asked, and are asked by themselves', suspects);
  counter('log_records', 'Records read from the log', () => followed.counts().records);
  counter('log_unreadable_records', 'Records of the log that could not be read', () => followed.counts().unreadable);
}

function observeSweep({ nowMs, startedAtMs, isSweeping, work }: Measured, { gauge, counter }: Observed): void {
  const { sweep, role } = work.state;
  gauge(
    'sweep_age_seconds',
    'Time since the last sweep over all pairs ended, or the start; 0 without a sweep, and for a standby',
    () => (isSweeping && role === 'HOLDER' ? Math.max(0, (nowMs() - (sweep.endedAtMs ?? startedAtMs)) / 1000) : 0),
  );
  gauge('sweep_duration_seconds', 'How long the last sweep took; 0 before the first', () => (sweep.tookMs ?? 0) / 1000);
  counter('sweep_pairs', 'Pairs read by the sweep', () => sweep.pairs);
  counter('sweep_facts', 'Makers of whom the sweep found a change that no log had shown', () => sweep.facts);
}

function observeNodes({ rpc, isSubscribed }: Measured, { gauge, counter }: Observed): void {
  counter('rpc_calls', 'JSON-RPC calls', () => rpc().calls);
  counter('rpc_requests', 'HTTP requests to nodes', () => rpc().requests);
  counter('rpc_failures', 'HTTP requests that were not answered in time, or not with sense, by endpoint', () =>
    [...rpc().failuresByEndpoint].map(([endpoint, failures]) => [failures, { endpoint }]),
  );
  counter('rpc_refusals', 'JSON-RPC calls answered with an error', () => rpc().refusals);
  counter('rpc_failovers', 'Calls passed on to the next endpoint', () => rpc().failovers);
  gauge('open_subscriptions', '1 while the WebSocket subscription to new blocks is open, else 0', () =>
    isSubscribed() ? 1 : 0,
  );
}

/** Half for the missed blocks, half for the makers; all for blocks that are followed instead. */
function ratioOf(progress: CatchUpProgress | undefined): number {
  if (progress === undefined) return 0;
  const { step, done, total } = progress;
  const ratio = total === 0 ? 0 : done / total;
  if (step === 'followed') return ratio;
  return step === 'blocks' ? ratio / 2 : (1 + ratio) / 2;
}
