import type { Labels, Told } from './read-metrics.js';

/** A finding about a process: what it says, or what its figures say. */
export interface Check {
  readonly isWell: boolean;
  readonly what: string;
  /** The alert whose runbook helps. */
  readonly alert: string;
}

export type Sums = ReadonlyMap<string, number>;

const LAG_SECONDS_MAX = 15;
const LAG = 'projector_lag_messages';

const alertOfCheck: Labels = {
  kafka: 'KafkaAway',
  postgres: 'PostgresAway',
  redis: 'RedisAway',
  dependencies: 'ChainNodeAway',
  projection: 'ReadModelBehind',
};

/** Lists what is well and what is not. @param staleSecondsMax the allowed age of the newest block of chain and book */
export function judgeProcesses(told: readonly Told[], staleSecondsMax: number): Check[] {
  return [...checkProcesses(told), ...checkFigures(told, staleSecondsMax)];
}

/** Checks whether each process answers, and whether each part answers the processes. */
function checkProcesses(told: readonly Told[]): Check[] {
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

/** Checks the figures of the processes. */
function checkFigures(told: readonly Told[], staleSecondsMax: number): Check[] {
  const has = (service: string) => told.some(({ name }) => name.startsWith(service));
  const values = (metric: string) => [...sumBy(told, metric, ['partition', 'process']).values()];
  /** Says nothing if no process reports the figure: another check already says that the process is down. */
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
  ];
}

/** The alert for a process that does not answer has its service's name: `ChainWatcherDown` for `chain-watcher-2`. */
function alertOf(name: string, check: string): string {
  if (check !== 'process') return alertOfCheck[check] ?? 'NotReady';
  if (name === 'log-archive') return 'LogArchiveOld';
  return `${name.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase()).replace(/-\d+$/, '')}Down`;
}

/** The sums of a metric, keyed by the values of some labels, joined by `: `. */
export function sumBy(told: readonly Told[], metric: string, by: readonly string[], wanted: Labels = {}): Sums {
  const sums = new Map<string, number>();
  for (const { labels, value } of told.flatMap(({ samples }) => samples.get(metric) ?? [])) {
    if (Object.entries(wanted).some(([label, text]) => labels[label] !== text)) continue;
    const key = by.flatMap((label) => labels[label] || []).join(': ');
    sums.set(key, (sums.get(key) ?? 0) + value);
  }
  return sums;
}

export const sum = (told: readonly Told[], metric: string, wanted?: Labels) =>
  sumBy(told, metric, [], wanted).get('') ?? 0;
