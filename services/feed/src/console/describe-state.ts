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
const STEP = 'ingress_step_duration_seconds';
const LAG = 'projector_lag_messages';

/** What takes the time: its name, its histogram, and the labels that count. */
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
  const isCancelOnly = sum(told, 'ingress_cancel_only_modes') > 0;
  const watchers = sumBy(told, 'chain_watcher_holders', ['process']);
  const owners = [...sumBy(told, LAG, ['partition', 'process'])].map(([key, lag]) => {
    const [partition, owner = ''] = key.split(': ');
    return [partition, [owner, lag]] as const;
  });
  return {
    checks: [...checkProcesses(told), ...checkFigures(told, staleSecondsMax)],
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

/** Whether each process answers, and whether each part answers the processes. */
function checkProcesses(told: readonly Told[]): ConsoleState['checks'] {
  const said = told.flatMap(({ name, checks }) =>
    Object.entries(checks).map(([check, text]) => {
      const [part, words] = check === 'process' ? [name, text] : [check, `${name} says ${text}`];
      return { part, words, isWell: text === 'ok', alert: alertOf(name, check) };
    }),
  );
  return [...Map.groupBy(said, ({ part }) => part)].map(([part, all]) => {
    const wrong = all.flatMap(({ isWell, words }) => (isWell ? [] : [words]));
    return { isWell: wrong.length === 0, what: `${part}: ${wrong.join('; ') || 'ok'}`, alert: all[0]?.alert ?? '' };
  });
}

/** What the figures of the processes say. */
function checkFigures(told: readonly Told[], staleSecondsMax: number): ConsoleState['checks'] {
  const has = (service: string) => told.some(({ name }) => name.startsWith(service));
  const values = (metric: string) => [...sumBy(told, metric, ['partition', 'process']).values()];
  /** Nothing where no process tells the figure: that it is away is said already. */
  const below = (max: number, what: string, all: readonly number[], alert: string) => {
    const figure = Math.round(Math.max(0, ...all));
    return all.length === 0 ? [] : [{ isWell: figure <= max, what: `${what}: ${figure}`, alert }];
  };
  const [holders, owned] = [sum(told, 'chain_watcher_holders'), values(LAG).length];
  const newest = values('chain_watcher_lag_seconds')
    .sort((a, b) => a - b)
    .slice(0, 1);
  return [
    { isWell: holders === 1 || !has('chain-watcher'), what: `Publishing watchers: ${holders}`, alert: 'NotOneHolder' },
    { isWell: owned > 0 || !has('projector'), what: `Partitions with an owner: ${owned}`, alert: 'PartitionsUnowned' },
    ...below(staleSecondsMax, 'Age of the newest block, s', newest, 'ChainStale'),
    ...below(staleSecondsMax, 'Age of the book, s', values('projector_feed_age_seconds'), 'FeedStale'),
    ...below(LAG_SECONDS_MAX, 'Lag of the rows, s', values('projector_lag_seconds'), 'ReadModelBehind'),
    ...below(0, 'Makers in quarantine', values('projector_quarantined_makers'), 'MakersQuarantined'),
    ...below(0, 'Messages parked', values('projector_parked_messages_total'), 'MessagesParked'),
  ];
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
    const key = by.flatMap((label) => labels[label] || []).join(': ');
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
