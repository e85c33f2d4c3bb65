import type { ConsoleState } from './browser/state.js';
import { tellSeconds } from './browser/tell-amounts.js';
import type { Labels, Told } from './read-metrics.js';

/** All processes at one time. */
export interface Reading {
  readonly atMs: number;
  readonly told: readonly Told[];
}

type Sums = ReadonlyMap<string, number>;

const LAG_SECONDS_MAX = 15;
const HTTP = 'http_server_request_duration_seconds';
const STEP = 'ingress_step_duration_seconds';
const LAG = 'projector_lag_messages';

/** What takes the time: its name, its histogram, and the labels that count. */
const durations: readonly (readonly [name: string, metric: string, labels: Labels])[] = [
  ['POST: answer', HTTP, { http_request_method: 'POST', http_route: '/v0alpha/limit-orders' }],
  ['POST: verify the signature', STEP, { step: 'verify' }],
  ['POST: decide in Postgres', STEP, { step: 'decide' }],
  ['POST: append to the log', STEP, { step: 'append' }],
  ['Block seen → its facts in the log', 'chain_watcher_block_duration_seconds', {}],
  ['Publish a batch to the book', 'projector_publish_duration_seconds', {}],
  ['Commit its rows', 'projector_commit_duration_seconds', {}],
  ['Block → book', 'projector_feed_delay_seconds', { type: 'BlockProcessed' }],
  ['DELETE → tombstone', 'projector_feed_delay_seconds', { type: 'OrderCancelled' }],
];
const alertOfCheck: Labels = {
  kafka: 'KafkaAway',
  postgres: 'PostgresAway',
  redis: 'RedisAway',
  dependencies: 'ChainNodeAway',
  projection: 'ReadModelBehind',
};

/** What the page shows of the processes. Rates and durations are those between the two readings. */
export function describeState(
  first: Reading,
  { atMs, told }: Reading,
  staleSecondsMax: number,
): Pick<ConsoleState, 'unwell' | 'owners' | 'facts' | 'tables'> {
  const seconds = Math.max(1, (atMs - first.atMs) / 1000);
  const count = `In ${Math.round(seconds)} s`;
  const grown = (metric: string, by: readonly string[], wanted?: Labels) =>
    growthOf(sumBy(told, metric, by, wanted), sumBy(first.told, metric, by, wanted));
  const rate = (metric: string) => `${((grown(metric, []).get('') ?? 0) / seconds).toFixed(1)} /s`;
  const refused = sumBy(told, 'ingress_refusals_total', ['endpoint', 'code']);
  const refusedNow = grown('ingress_refusals_total', ['endpoint', 'code']);
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
  const watchers = [...sumBy(told, 'chain_watcher_holders', ['process'])].map(watcherOf);
  const refusals = [...refused].sort().map(([name, all]) => [name, String(refusedNow.get(name)), String(all)]);
  const owners = [...sumBy(told, LAG, ['partition', 'process'])].map(([key, lag]) => {
    const [partition, owner = ''] = key.split(': ');
    return [partition, [owner, lag]] as const;
  });
  return {
    unwell: findUnwell(told, staleSecondsMax),
    owners: Object.fromEntries(owners),
    facts: [
      ['Orders in', rate('ingress_orders_accepted_total')],
      ['Cancels in', rate('ingress_orders_cancelled_total')],
      ['Makers in quarantine', String(sum(told, 'projector_quarantined_makers'))],
      ['Messages parked', String(sum(told, 'projector_parked_messages_total'))],
      ['Mode', sum(told, 'ingress_cancel_only_modes') > 0 ? 'cancel only: no orders are taken' : 'normal'],
    ],
    tables: [
      ['Durations', ['What takes the time', count, 'Median', 'p99'], durations.map(timeOf)],
      ['Parts', ['Part', 'State'], describeParts(told)],
      ['Chain-watchers', ['Process', 'Log at', 'Node at', 'Lag, s', 'Unread'], watchers],
      ['Refusals', ['Refusal', count, 'Since the start'], refusals],
    ],
  };
}

/** Each check by what the processes say of it. */
function describeParts(told: readonly Told[]): string[][] {
  const said = told.flatMap(({ name, checks }) => Object.entries(checks).map(([part, text]) => ({ part, name, text })));
  return [...Map.groupBy(said, ({ part }) => part)].map(([part, all]) => {
    const wrong = all.flatMap(({ name, text }) => (text === 'ok' ? [] : [`${name}: ${text}`]));
    return [part, wrong.length === 0 ? `✓ ${all.map(({ name }) => name).join(', ')}` : `✕ ${wrong.join('; ')}`];
  });
}

/** All that is not well, the causes first. */
export function findUnwell(told: readonly Told[], staleSecondsMax: number): ConsoleState['unwell'] {
  const has = (service: string) => told.some(({ name }) => name.startsWith(service));
  const values = (metric: string) => [...sumBy(told, metric, ['partition', 'process']).values()];
  const isAbove = (metric: string, max: number) => values(metric).some((value) => value > max);
  const holders = sum(told, 'chain_watcher_holders');
  const ages = values('chain_watcher_lag_seconds');
  const found: readonly (readonly [isUnwell: boolean, what: string, alert: string])[] = [
    ...told.flatMap(({ name, checks }) =>
      Object.entries(checks).map(([check, text]) => {
        const what = check === 'process' ? `${name} ${text}` : `${name}, ${check}: ${text}`;
        return [text !== 'ok', what, alertOf(name, check)] as const;
      }),
    ),
    [has('chain-watcher') && holders !== 1, `${holders} chain-watchers publish`, 'NotOneHolder'],
    [has('projector') && values(LAG).length === 0, 'no projector works on any partition', 'PartitionsUnowned'],
    [ages.length > 0 && Math.min(...ages) > staleSecondsMax, 'the newest block of the log is old', 'ChainStale'],
    [isAbove('projector_feed_age_seconds', staleSecondsMax), 'the book is stale', 'FeedStale'],
    [isAbove('projector_lag_seconds', LAG_SECONDS_MAX), 'the rows are behind', 'ReadModelBehind'],
    [isAbove('projector_quarantined_makers', 0), 'makers are in quarantine', 'MakersQuarantined'],
    [isAbove('projector_parked_messages_total', 0), 'messages were parked', 'MessagesParked'],
  ];
  return found.filter(([isUnwell]) => isUnwell).map(([, what, alert]) => ({ what, alert }));
}

/** Of a process that is away it has the name of the service: `ChainWatcherDown` for `chain-watcher-2`. */
function alertOf(name: string, check: string): string {
  if (check !== 'process') return alertOfCheck[check] ?? 'NotReady';
  return `${name.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase()).replace(/-\d+$/, '')}Down`;
}

/** The sums of a metric by the values of some labels, joined by `: `. */
function sumBy(told: readonly Told[], metric: string, by: readonly string[], wanted: Labels = {}): Sums {
  const sums = new Map<string, number>();
  for (const { labels, value } of told.flatMap(({ samples }) => samples.get(metric) ?? [])) {
    if (Object.entries(wanted).some(([label, text]) => labels[label] !== text)) continue;
    const key = by.map((label) => labels[label]).join(': ');
    sums.set(key, (sums.get(key) ?? 0) + value);
  }
  return sums;
}

const sum = (told: readonly Told[], metric: string, wanted?: Labels) => sumBy(told, metric, [], wanted).get('') ?? 0;

/** A process that was started anew counts from zero. */
function growthOf(now: Sums, before: Sums): Sums {
  const growth = (count: number, then = 0) => (count < then ? count : count - then);
  return new Map([...now].map(([key, count]) => [key, growth(count, before.get(key))]));
}

/** A share of the durations lies below this, in seconds; undefined where there was none. @param buckets counts up to each bound */
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
