import { judgeProcesses, type Labels, type Sums, sum, sumBy, type Told } from '@makerbook/telemetry';
import type { ConsoleState } from './browser/state.js';
import { tellSeconds } from './browser/tell-amounts.js';

/** What all processes told at one time. */
export interface Reading {
  readonly atMs: number;
  readonly told: readonly Told[];
}

const STEP = 'ingress_step_duration_seconds';
const LAG = 'projector_lag_messages';

/** The durations to show: name, histogram, and the labels that count. */
const durations: readonly (readonly [name: string, metric: string, labels: Labels])[] = [
  ['POST: verify the signature', STEP, { step: 'verify' }],
  ['POST: decide in Postgres', STEP, { step: 'decide' }],
  ['POST: append to the log', STEP, { step: 'append' }],
  ['Block seen → its facts in the log', 'chain_watcher_block_duration_seconds', {}],
  ['Publish a batch to the book', 'projector_publish_duration_seconds', {}],
  ['Commit its rows', 'projector_commit_duration_seconds', {}],
  ['Block → book', 'projector_feed_delay_seconds', { type: 'BlockProcessed' }],
  ['POST → ACTIVE', 'projector_feed_delay_seconds', { type: 'OrderSubmitted' }],
  ['DELETE → tombstone', 'projector_feed_delay_seconds', { type: 'OrderCancelled' }],
];

/** What the page shows about the processes. Rates and durations are those between the two readings. */
export function describeState(
  first: Reading,
  { atMs, told }: Reading,
  staleSecondsMax: number,
): Pick<ConsoleState, 'checks' | 'owners' | 'facts' | 'tables'> {
  const seconds = Math.max(1, (atMs - first.atMs) / 1000);
  const count = `In ${Math.round(seconds)} s`;
  const grown = (metric: string, by: readonly string[], wanted?: Labels) =>
    growthOf(sumBy(told, metric, by, wanted), sumBy(first.told, metric, by, wanted));
  const isTold = told.some(({ name, samples }) => name.startsWith('ingress') && samples.size > 0);
  const rate = (metric: string) => (isTold ? `${((grown(metric, []).get('') ?? 0) / seconds).toFixed(1)} /s` : '–');
  const countsOf = (metric: string, ...by: string[]) => {
    const now = grown(metric, by);
    return [...sumBy(told, metric, by)].sort().map(([name, all]) => [name, String(now.get(name)), String(all)]);
  };
  const timeOf = ([name, metric, labels]: (typeof durations)[number]) => {
    const buckets = grown(`${metric}_bucket`, ['le'], labels);
    const quantiles = [0.5, 0.99].map((share) => tellSeconds(quantileOf(share, buckets)));
    return [name, String(buckets.get('+Inf') ?? 0), ...quantiles];
  };
  const watcherOf = ([process, isHolder]: readonly [string, number]) => {
    const figures = ['processed_block_number', 'head_block_number', 'lag_seconds', 'unread_orders'].map((name) =>
      String(Math.round(sum(told, `chain_watcher_${name}`, { process }))),
    );
    return [`${process}, ${isHolder === 1 ? 'holder' : 'standby'}`, ...figures];
  };
  const parked = [...sumBy(told, 'projector_parked_messages_total', []).values()];
  const isCancelOnly = sum(told, 'ingress_cancel_only_modes') > 0;
  const watchers = sumBy(told, 'chain_watcher_holders', ['process']);
  const owners = [...sumBy(told, LAG, ['partition', 'process'])].map(([key, lag]) => {
    const [partition, owner = ''] = key.split(': ');
    return [partition, [owner, lag]] as const;
  });
  return {
    checks: [
      ...judgeProcesses(told, staleSecondsMax),
      ...parked.map((count) => {
        return { isWell: count === 0, what: `Messages parked since the start: ${count}`, alert: 'MessagesParked' };
      }),
    ],
    owners: Object.fromEntries(owners),
    facts: [
      ['Orders in', rate('ingress_orders_accepted_total')],
      ['Cancels in', rate('ingress_orders_cancelled_total')],
      ['Mode', isCancelOnly ? 'cancel only: no orders are taken' : isTold ? 'normal' : '–'],
    ],
    tables: [
      ['Durations', ['What takes the time', count, 'Median', 'p99'], durations.map(timeOf)],
      [
        'Chain-watchers',
        ['Process', 'Log block', 'Node block', 'Lag, s', 'Unread orders'],
        [...watchers].map(watcherOf),
      ],
      [
        'Orders',
        ['What happened', count, 'Since the start'],
        countsOf('projector_transitions_total', 'kind', 'outcome'),
      ],
      ['Refusals', ['Refusal', count, 'Since the start'], countsOf('ingress_refusals_total', 'endpoint', 'code')],
    ],
  };
}

/** A process that was restarted counts from zero. */
function growthOf(now: Sums, before: Sums): Sums {
  const growth = (count: number, then = 0) => (count < then ? count : count - then);
  return new Map([...now].map(([key, count]) => [key, growth(count, before.get(key))]));
}

/** This share of the durations lies below the result, in seconds. @param buckets counts up to each bound */
function quantileOf(share: number, buckets: Sums): number | undefined {
  const counts = [...buckets].map(([le, count]) => [Number(le.replace('+Inf', 'Infinity')), count] as const);
  counts.sort(([one], [other]) => one - other);
  const wanted = share * (counts.at(-1)?.[1] ?? 0);
  let [from, below] = [0, 0];
  for (const [le, count] of wanted === 0 ? [] : counts) {
    if (count >= wanted) return le === Infinity ? from : from + ((le - from) * (wanted - below)) / (count - below);
    [from, below] = [le, count];
  }
  return undefined;
}
