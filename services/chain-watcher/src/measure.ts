import type { RpcCounts } from '@makerbook/chain';
import { metrics } from '@makerbook/telemetry';
import type { CatchUpProgress, WatcherState } from './keep-position.js';
import type { WatchedSet } from './keep-watched-set.js';
import type { SweepState } from './sweep-pairs.js';

/** What the gauges are read from, when they are scraped. */
export interface Measured {
  readonly state: WatcherState;
  readonly sweep: SweepState;
  readonly headNumber: () => number | undefined;
  readonly rpc: () => RpcCounts;
  readonly suspects: () => number;
  readonly ordersWaiting: () => number;
  readonly logRecords: () => { readonly records: number; readonly unreadable: number };
  readonly sizes: () => ReturnType<WatchedSet['sizes']>;
  readonly nowMs: () => number;
}

export interface WatcherMeters {
  readonly blockProcessed: (facts: number, tookMs: number | undefined) => void;
  /** A value of a token could not be read, and counts as zero. */
  readonly unreadable: (what: string) => void;
  readonly subscriptionBroken: () => void;
  /** A block that the node's topic did not hold came from JSON-RPC. */
  readonly gapFilled: () => void;
  /** The chain contradicts the log: the watcher halts. An alert stands on it. */
  readonly halted: () => void;
  /** Starts the gauges. */
  readonly observe: (measured: Measured) => void;
}

const millisecondBuckets = [1, 2, 5, 10, 20, 50, 100, 150, 200, 500, 1000, 2000, 5000, 10_000];

/** The watcher's metrics. Each name ends with its unit; README.md says what each is for. */
export function createMeters(): WatcherMeters {
  const meter = metrics.getMeter('chain-watcher');
  const name = (what: string) => `makerbook_chain_watcher_${what}`;
  const blockMs = meter.createHistogram(name('block_milliseconds'), {
    description: 'From the moment a block was seen to the acknowledgement of its facts',
    advice: { explicitBucketBoundaries: millisecondBuckets },
  });
  const blocks = meter.createCounter(name('blocks'), { description: 'Blocks published' });
  const facts = meter.createCounter(name('block_facts'), { description: 'Facts published with blocks' });
  const unreadable = meter.createCounter(name('unreadable_values'), {
    description: 'Values of tokens that could not be read and count as zero, by what was read',
  });
  const gaps = meter.createCounter(name('topic_gap_blocks'), {
    description: 'Blocks that the Kaia node’s topic did not hold in time, and JSON-RPC gave',
  });
  const broken = meter.createCounter(name('subscription_breaks'), {
    description: 'How often the WebSocket subscription to new blocks broke',
  });
  const halts = meter.createCounter(name('halts'), { description: 'Halts because the chain contradicts the log' });
  halts.add(0);

  const gauge = (what: string, description: string, read: () => number | undefined) => {
    const observable = meter.createObservableGauge(name(what), { description });
    observable.addCallback((result) => {
      const value = read();
      if (value !== undefined) result.observe(value);
    });
  };
  const counter = (what: string, description: string, read: () => number) => {
    const observable = meter.createObservableCounter(name(what), { description });
    observable.addCallback((result) => result.observe(read()));
  };

  return {
    blockProcessed: (count, tookMs) => {
      blocks.add(1);
      facts.add(count);
      if (tookMs !== undefined) blockMs.record(tookMs);
    },
    unreadable: (what) => unreadable.add(1, { what }),
    subscriptionBroken: () => broken.add(1),
    gapFilled: () => gaps.add(1),
    halted: () => halts.add(1),
    observe: ({ state, sweep, headNumber, rpc, suspects, ordersWaiting, logRecords, sizes, nowMs }) => {
      gauge('head_block_number', 'Newest block that the node has', headNumber);
      gauge('processed_block_number', 'Newest block published to every partition', () => state.processed?.number);
      gauge('lag_blocks', 'Blocks between the processed one and the head', () => {
        const head = headNumber();
        return head === undefined || state.processed === undefined
          ? undefined
          : Math.max(0, head - state.processed.number);
      });
      gauge('lag_seconds', 'Age of the processed block by its timestamp', () =>
        state.processed === undefined ? undefined : Math.max(0, nowMs() / 1000 - state.processed.timestamp),
      );
      gauge('catch_up_ratio', 'How far catching up has come, from 0 to 1; 1 when it is done', () => {
        return state.phase === 'FOLLOWING' ? 1 : ratioOf(state.catchUp);
      });
      gauge('watched_pairs', 'Pairs of maker and making token with open orders', () => sizes().pairs);
      gauge('watched_makers', 'Makers with open orders', () => sizes().makers);
      gauge('open_orders', 'Open orders', () => sizes().orders);
      gauge('known_hashes', 'Order hashes remembered, those of removed orders until they expire', () => sizes().hashes);
      gauge('orders_waiting', 'New orders that wait to be read', ordersWaiting);
      gauge('suspect_functions', 'Functions of tokens that failed and are called alone', suspects);
      gauge('sweep_age_seconds', 'Time since the last sweep over all pairs ended', () =>
        sweep.endedAtMs === undefined ? undefined : (nowMs() - sweep.endedAtMs) / 1000,
      );
      gauge('sweep_duration_seconds', 'How long the last sweep over all pairs took', () =>
        sweep.tookMs === undefined ? undefined : sweep.tookMs / 1000,
      );
      counter('sweep_pairs', 'Pairs read by the sweep', () => sweep.pairs);
      counter('sweep_facts', 'Changes that the sweep found and no log had told', () => sweep.facts);
      counter('rpc_calls', 'JSON-RPC calls', () => rpc().calls);
      counter('rpc_requests', 'HTTP requests to nodes', () => rpc().requests);
      counter('rpc_failures', 'HTTP requests that no node answered in time', () => rpc().failures);
      counter('rpc_refusals', 'JSON-RPC calls answered with an error', () => rpc().refusals);
      counter('rpc_failovers', 'Calls passed on to the next endpoint', () => rpc().failovers);
      counter('log_records', 'Records read from the log', () => logRecords().records);
      counter('log_unreadable_records', 'Records of the log that could not be read', () => logRecords().unreadable);
    },
  };
}

const STEPS: readonly CatchUpProgress['step'][] = ['blocks', 'orders', 'pairs'];

/** Each step counts for as much as the others. */
function ratioOf(progress: CatchUpProgress | undefined): number {
  if (progress === undefined) return 0;
  const { step, done, total } = progress;
  return (STEPS.indexOf(step) + (total === 0 ? 0 : done / total)) / STEPS.length;
}
