import type { ConsoleState } from './browser/state.js';
import { tellSeconds } from './browser/tell-amounts.js';
import type { Sample, Told } from './read-metrics.js';

/** All processes at one time. */
export interface Reading {
  readonly atMs: number;
  readonly told: readonly Told[];
}

type Labels = Readonly<Record<string, string>>;
type Described = Pick<ConsoleState, 'unwell' | 'owners' | 'tables' | 'texts'>;

const LAG_SECONDS_MAX = 15;
const HTTP = 'http_server_request_duration_seconds';
const STEP = 'ingress_step_duration_seconds';

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
const parts = { Kafka: 'kafka', Postgres: 'postgres', Redis: 'redis', 'Chain node': 'dependencies' } as const;
const alertOfCheck: Labels = {
  kafka: 'KafkaAway',
  postgres: 'PostgresAway',
  redis: 'RedisAway',
  dependencies: 'ChainNodeAway',
  projection: 'ReadModelBehind',
};
const alertOfProcess: Labels = {
  ingress: 'IngressDown',
  query: 'QueryDown',
  feed: 'FeedDown',
  projector: 'ProjectorDown',
  'chain-watcher': 'ChainWatcherDown',
};

/** What the page shows of the processes. Rates and durations are those between the two readings. */
export function describeState(first: Reading, { atMs, told }: Reading, staleSecondsMax: number): Described {
  const [samples, before] = [told, first.told].map((all) => all.flatMap((one) => one.samples));
  const sum = (metric: string, all = samples ?? []) => sumOf(all.filter(({ name }) => name === metric));
  const seconds = Math.max(1, (atMs - first.atMs) / 1000);
  const rate = (metric: string) => `${(growthOf(sum(metric), sum(metric, before)) / seconds).toFixed(1)} /s`;
  const refused = refusalsOf(samples);
  const refusedBefore = refusalsOf(before);
  return {
    unwell: findUnwell(told, staleSecondsMax),
    owners: Object.fromEntries(
      gaugesBy(told, 'projector_lag_messages').map(([owner, partition, lag]) => [partition, [owner, lag]]),
    ),
    tables: {
      parts: Object.entries(parts).map(([part, check]) => [part, tellPart(told, check)]),
      services: told.map(({ name, isUp, checks }) => [
        name,
        isUp ? wrongOf(checks).join('; ') || 'ok' : 'does not answer',
      ]),
      watchers: told.filter(isWatcher).map(describeWatcher),
      durations: durations.map(([name, metric, labels]) => {
        const [now, then] = [bucketsOf(samples, metric, labels), bucketsOf(before, metric, labels)];
        const count = growthOf(now.at(-1)?.[1] ?? 0, then.at(-1)?.[1] ?? 0);
        return [name, String(count), ...[0.5, 0.99].map((share) => tellSeconds(quantileOf(share, now, then)))];
      }),
      refusals: [...refused]
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([name, count]) => [name, String(growthOf(count, refusedBefore.get(name) ?? 0)), String(count)]),
    },
    texts: {
      'flow-window': `over the last ${Math.round(seconds)} s`,
      accepted: rate('ingress_orders_accepted_total'),
      cancelled: rate('ingress_orders_cancelled_total'),
      quarantined: String(sum('projector_quarantined_makers')),
      parked: String(sum('projector_parked_messages_total')),
      mode: sum('ingress_cancel_only_modes') > 0 ? 'cancel only: no orders are taken' : 'normal',
    },
  };
}

/** All that is not well, the causes first. */
export function findUnwell(told: readonly Told[], staleSecondsMax: number): ConsoleState['unwell'] {
  const holders = told.filter((one) => figureOf(one, 'chain_watcher_holders') === 1);
  const late = holders.filter((one) => figureOf(one, 'chain_watcher_lag_seconds') > staleSecondsMax);
  const above = (metric: string, max: number) =>
    gaugesBy(told, metric).flatMap(([, partition, value]) => (value > max ? [partition] : []));
  const [stale, behind] = [
    above('projector_feed_age_seconds', staleSecondsMax),
    above('projector_lag_seconds', LAG_SECONDS_MAX),
  ];
  const owned = gaugesBy(told, 'projector_lag_messages');
  const sum = (metric: string) => told.reduce((all, one) => all + figureOf(one, metric), 0);
  const [quarantined, parked] = [sum('projector_quarantined_makers'), sum('projector_parked_messages_total')];
  const has = (name: string) => told.some((one) => one.name.startsWith(name));
  const found: readonly (readonly [isUnwell: boolean, what: string, alert: string])[] = [
    ...told.flatMap(unwellOf),
    [
      has('chain-watcher') && holders.length !== 1,
      `${holders.length} chain-watchers publish, instead of one`,
      'NotOneHolder',
    ],
    [has('projector') && owned.length === 0, 'no projector works on any partition', 'PartitionsUnowned'],
    [late.length > 0, 'the newest block of the log is old', 'ChainStale'],
    [stale.length > 0, `the book is stale in ${stale.join(', ')}`, 'FeedStale'],
    [behind.length > 0, `the rows are behind in ${behind.join(', ')}`, 'ReadModelBehind'],
    [quarantined > 0, `${quarantined} makers are in quarantine`, 'MakersQuarantined'],
    [parked > 0, `${parked} messages were parked`, 'MessagesParked'],
  ];
  return found.filter(([isUnwell]) => isUnwell).map(([, what, alert]) => ({ what, alert }));
}

function unwellOf({ name, isUp, checks }: Told): (readonly [boolean, string, string])[] {
  const down = Object.entries(alertOfProcess).find(([start]) => name.startsWith(start))?.[1] ?? 'NotReady';
  if (!isUp) return [[true, `${name} does not answer`, down]];
  return Object.entries(checks).map(([check, text]) => [
    text !== 'ok',
    `${name}, ${check}: ${text}`,
    alertOfCheck[check] ?? 'NotReady',
  ]);
}

const wrongOf = (checks: Labels) =>
  Object.entries(checks).flatMap(([check, text]) => (text === 'ok' ? [] : [`${check}: ${text}`]));

function tellPart(told: readonly Told[], check: string): string {
  const asked = told.filter(({ checks }) => checks[check] !== undefined);
  const wrong = asked.filter(({ checks }) => checks[check] !== 'ok');
  if (asked.length === 0) return '– nobody uses it';
  return wrong.length === 0 ? '✓ ok' : `✕ ${wrong.map(({ name, checks }) => `${name}: ${checks[check]}`).join('; ')}`;
}

const isWatcher = ({ samples }: Told) => samples.some(({ name }) => name === 'chain_watcher_holders');

function describeWatcher(one: Told): string[] {
  const figure = (name: string) => figureOf(one, `chain_watcher_${name}`);
  const blocks = ['processed_block_number', 'head_block_number'].map((name) => String(figure(name)));
  const role = figure('holders') === 1 ? 'holder' : 'standby';
  return [one.name, role, ...blocks, tellSeconds(figure('lag_seconds')), String(figure('unread_orders'))];
}

const sumOf = (samples: readonly Sample[]) => samples.reduce((sum, { value }) => sum + value, 0);
const figureOf = ({ samples }: Told, metric: string) => sumOf(samples.filter(({ name }) => name === metric));

function gaugesBy(told: readonly Told[], metric: string): (readonly [process: string, partition: string, number])[] {
  return told.flatMap((one) =>
    one.samples
      .filter(({ name }) => name === metric)
      .map(({ labels, value }) => [one.name, labels['partition'] ?? '', value] as const),
  );
}

/** By endpoint and code. */
function refusalsOf(samples: readonly Sample[] = []): Map<string, number> {
  const refusals = new Map<string, number>();
  for (const { name, labels, value } of samples) {
    const key = `${labels['endpoint']}: ${labels['code']}`;
    if (name === 'ingress_refusals_total') refusals.set(key, (refusals.get(key) ?? 0) + value);
  }
  return refusals;
}

/** Counts of the durations up to each bound in seconds; the last is the count of all. */
type Buckets = readonly (readonly [le: number, count: number])[];

function bucketsOf(samples: readonly Sample[] = [], metric: string, wanted: Labels): Buckets {
  const counts = new Map<number, number>();
  for (const { name, labels, value } of samples) {
    if (name !== `${metric}_bucket` || Object.entries(wanted).some(([label, text]) => labels[label] !== text)) continue;
    const le = Number((labels['le'] ?? '').replace('+Inf', 'Infinity'));
    counts.set(le, (counts.get(le) ?? 0) + value);
  }
  return [...counts].sort(([one], [other]) => one - other);
}

/** A process that was started anew counts from zero. */
const growthOf = (now: number, before: number) => (now < before ? now : now - before);

/** A share of the durations between two readings lies below this, in seconds; undefined where there was none. */
export function quantileOf(share: number, now: Buckets, before: Buckets): number | undefined {
  const counts = now.map(([le, count], n) => [le, growthOf(count, before[n]?.[1] ?? 0)] as const);
  const wanted = share * (counts.at(-1)?.[1] ?? 0);
  let [from, below] = [0, 0];
  for (const [le, count] of wanted === 0 ? [] : counts) {
    if (count >= wanted) return le === Infinity ? from : from + ((le - from) * (wanted - below)) / (count - below);
    [from, below] = [le, count];
  }
  return undefined;
}
