import type { RpcCounts } from '@makerbook/chain';
import { createInstruments, type Instruments } from '@makerbook/telemetry';
import type { BlockSource } from './blocks/source.js';
import type { Vitals } from './health.js';
import type { CatchUpProgress } from './observe/holder.js';
import type { Work } from './work.js';

/** The gauges read these at each scrape. */
export interface Measured {
  readonly vitals: Vitals;
  readonly work: Pick<Work, 'state' | 'followed' | 'watched'>;
  readonly headNumber: () => number | undefined;
  readonly source: Pick<BlockSource, 'isSubscribed' | 'counts'>;
  readonly isSweeping: boolean;
  readonly rpc: () => RpcCounts;
  readonly suspects: () => number;
}

export type WatcherMeters = ReturnType<typeof createMetrics>;

const secondsBuckets = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.5, 1, 2, 5, 10];

const lastWordOf = (what: string) => what.split('_').at(-1) ?? '';

/**
 * The watcher's metrics. Each name ends with its unit. Counters and gauges have a value
 * from the start: an alert cannot be written on a series that does not exist.
 */
export function createMetrics() {
  const { counter, histogram, ...observed } = createInstruments('chain-watcher', lastWordOf);
  const counters = {
    blocks: counter('blocks', 'Blocks published'),
    facts: counter('block_facts', 'Facts published with blocks'),
    gaps: counter('topic_gap_blocks', 'Blocks that JSON-RPC gave because the Kaia node’s topic lacked them'),
    takeovers: counter('takeovers', 'How often this watcher took over'),
    breaks: counter('subscription_breaks', 'How often the WebSocket subscription to new blocks broke'),
    halts: counter('halts', 'Halts because the chain or the log is not what it was'),
  };
  for (const counter of Object.values(counters)) counter.add(0);
  const unreadable = counter(
    'unreadable_values',
    'Values of tokens that could not be read and count as zero, by what was read',
  );
  for (const what of ['balance', 'allowance'] as const) unreadable.add(0, { what });
  return {
    ...counters,
    unreadable,
    blockSeconds: histogram(
      'block_duration_seconds',
      'From the moment a block was seen to the acknowledgement of its facts',
      secondsBuckets,
    ),
    /** Starts the gauges. */
    observe: (measured: Measured) => {
      observeBlocks(measured, observed);
      observeOrders(measured, observed);
      observeSweep(measured, observed);
      observeNodes(measured, observed);
    },
  };
}

type Observed = Pick<Instruments, 'gauge' | 'observedCounter'>;

function observeBlocks({ vitals, work: { state, followed }, headNumber }: Measured, { gauge }: Observed): void {
  const newest = () => followed.newestBlock();
  gauge('holders', '1 while this watcher publishes, else 0; the sum over all watchers is 1', () =>
    state.role === 'HOLDER' ? 1 : 0,
  );
  gauge('head_block_number', 'Newest block that the node has', () => headNumber() ?? 0);
  gauge('processed_block_number', 'Newest block of the log, by any watcher', () => newest()?.number ?? 0);
  gauge('lag_blocks', 'Blocks between the newest one of the log and the head', () => {
    const block = newest()?.number ?? 0;
    return block === 0 ? 0 : Math.max(0, (headNumber() ?? 0) - block);
  });
  gauge('lag_seconds', 'Age of the newest block of the log; before the first, time since the start', () => {
    const block = newest();
    if (block === undefined) return vitals.secondsSince(vitals.startedAtMs);
    return Math.max(0, vitals.unixMs() / 1000 - block.timestamp);
  });
  gauge('loop_age_seconds', 'Time since the block loop last advanced; 0 while another watcher publishes', () =>
    state.role === 'HOLDER' ? vitals.secondsSince(vitals.lastTurnAtMs) : 0,
  );
  gauge('partition_wait_seconds', 'How long a partition of the log lacks the newest block, by partition', () =>
    followed.partitions.map(({ block, blockReadAtMs }, partition) => {
      const isBehind = (block?.number ?? -1) < followed.newestNumber();
      return [isBehind ? vitals.secondsSince(blockReadAtMs) : 0, { partition }];
    }),
  );
  gauge('catch_up_ratio', 'Progress of catching up, from 0 to 1; 1 when it is done, and for a standby', () =>
    state.position === undefined || state.position.phase === 'FOLLOWING' ? 1 : ratioOf(state.position.catchUp),
  );
}

function observeOrders({ vitals, work, suspects }: Measured, { gauge, observedCounter }: Observed): void {
  const { watched, followed } = work;
  gauge('watched_pairs', 'Pairs of maker and making token with watched orders', () => watched.sizes().pairs);
  gauge('watched_makers', 'Makers with watched orders', () => watched.sizes().makers);
  gauge('watched_orders', 'Watched orders', () => watched.sizes().orders);
  gauge('unread_orders', 'New orders that wait to be read', () => watched.unread.size);
  gauge('unread_order_age_seconds', 'How long the oldest new order has waited; 0 if there is none', () => {
    const oldest = watched.unread.values().next().value;
    return oldest === undefined ? 0 : vitals.secondsSince(oldest.sinceMs);
  });
  gauge(
    'put_off_pairs',
    'Pairs that are read in turn, because reading them with a block costs too much',
    () => watched.putOff.size,
  );
  gauge(
    'unasked_orders',
    'Orders that wait until their contract wallet is asked about them',
    () => watched.wallets.unasked().orders,
  );
  gauge('put_off_age_seconds', 'How long the oldest pair or order put off has waited; 0 if there is none', () => {
    const waiting = [...watched.putOff.values(), watched.wallets.unasked().sinceMs ?? Number.POSITIVE_INFINITY];
    const oldest = waiting.reduce((a, b) => Math.min(a, b));
    return Number.isFinite(oldest) ? vitals.secondsSince(oldest) : 0;
  });
  gauge('suspect_values', 'Values that could not be read last time, and are now read one by one', suspects);
  observedCounter('log_records', 'Records read from the log', () => followed.counts.records);
  observedCounter(
    'log_unreadable_records',
    'Records of the log that could not be read',
    () => followed.counts.unreadable,
  );
}

function observeSweep({ vitals, isSweeping, work: { state } }: Measured, { gauge, observedCounter }: Observed): void {
  const { sweep } = state;
  gauge(
    'sweep_age_seconds',
    'Time since the last sweep ended, or the take-over; 0 without a sweep, and for a standby',
    () => {
      if (!isSweeping || state.role !== 'HOLDER' || sweep.startedAtMs === undefined) return 0;
      return vitals.secondsSince(sweep.startedAtMs);
    },
  );
  gauge('sweep_duration_seconds', 'How long the last sweep took; 0 before the first', () => (sweep.tookMs ?? 0) / 1000);
  observedCounter('sweep_pairs', 'Pairs read by the sweep', () => sweep.pairs);
  observedCounter('sweep_facts', 'Makers with a change that the sweep found and no log had shown', () => sweep.facts);
}

function observeNodes({ rpc, source, vitals }: Measured, { gauge, observedCounter }: Observed): void {
  observedCounter('rpc_calls', 'JSON-RPC calls', () => rpc().calls);
  observedCounter('rpc_requests', 'HTTP requests to nodes', () => rpc().requests);
  observedCounter('rpc_failures', 'HTTP requests without a valid answer in time, by endpoint', () =>
    [...rpc().failuresByEndpoint].map(([endpoint, failures]) => [failures, { endpoint }]),
  );
  observedCounter('rpc_refusals', 'JSON-RPC calls answered with an error', () => rpc().refusals);
  observedCounter('rpc_failovers', 'Calls passed on to the next endpoint', () => rpc().failovers);
  gauge('open_subscriptions', '1 while the WebSocket subscription to new blocks is open, else 0', () =>
    source.isSubscribed() ? 1 : 0,
  );
  observedCounter(
    'block_turns',
    'Turns of the block loop: blocks taken, and waits for one',
    () => source.counts().turns,
  );
  gauge('topic_silence_seconds', 'Time since a block came from the topic of the Kaia node; 0 without a topic', () => {
    const { topicSilentSinceMs } = source.counts();
    return topicSilentSinceMs === undefined ? 0 : vitals.secondsSince(topicSilentSinceMs);
  });
}

/** Missed blocks make up one half and makers the other. Blocks followed one by one make up the whole. */
function ratioOf(progress: CatchUpProgress | undefined): number {
  if (progress === undefined) return 0;
  const { step, done, total } = progress;
  const ratio = total === 0 ? 0 : done / total;
  if (step === 'followed') return ratio;
  return step === 'blocks' ? ratio / 2 : (1 + ratio) / 2;
}
