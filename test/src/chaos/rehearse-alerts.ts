import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { paths } from '@makerbook/contracts-http';
import { listQueries, readRules } from '@makerbook/deploy-checks';
import { createChance } from '@makerbook/parts';
import { commandsIn, startCommand } from '../examples/run-commands.js';
import { beginAtPace, type Pace } from '../kit/generate-load.js';
import { type Fault, freeze, refuseAll } from './faults.js';
import type { ChaosBed } from './open-bed.js';
import { putLoadOn } from './put-load-on.js';
import { type Firing, type Prometheus, runPrometheus } from './run-prometheus.js';
import { speedUpRules } from './speed-up-rules.js';

export interface RehearsalOptions {
  /** The name of the router that the bed knows. */
  readonly router: string;
  readonly seed: number;
  readonly makers: number;
  /** How many times shorter than in production the times of the rules are. No window is below a minute. */
  readonly faster: number;
  /** Only parts whose name contains the word are taken down. */
  readonly only: string;
  /** Holds the data of Prometheus. */
  readonly folder: string;
  readonly report: (line: string) => void;
}

/** Keyed by the part that is taken down: the alert that must fire. */
const expected: Readonly<Record<string, string>> = {
  router: 'RouterSilent',
  query: 'QueryDown',
  feed: 'FeedDown',
  ingress: 'IngressDown',
  projector: 'ProjectorDown',
  'chain-watcher': 'ChainWatcherDown',
  Redis: 'RedisAway',
  Postgres: 'PostgresAway',
  anvil: 'ChainNodeAway',
  Kafka: 'KafkaAway',
};
/** Matches queries that may have no result: nothing has happened yet, or a setting is off by default. */
const mayBeEmpty =
  /"5\.\."|error_type!=""|service_check_passing == 0|(refusals|quotes_patched|fills|checks_local|rpc_failures|reads|streams_ended|snapshots)_total/;
/** These alerts on error budgets look back for hours, so they end late. */
const burnAlerts = readRules()
  .flatMap(({ rules }) => rules)
  .flatMap((rule) => ('alert' in rule && rule.expr.startsWith('slo:burn_rate') ? [rule.alert] : []));
const [COMMAND = ''] = commandsIn('examples/README.md', 'npm run example:router');
const FIRES_MS_MAX = 240_000;
const ENDS_MS_MAX = 300_000;
const WARM_MS = 30_000;
const ASKED_PER_SECOND = 5;

/**
 * Takes down each service, each part and a router in turn, under load. Waits until a real Prometheus raises the alert
 * of its runbook, and until the alert ends.
 * @returns what was wrong, empty if each alert came and went, and each query of rules and panels has a result
 * @throws Error if there is no Prometheus, or alerts fire while everything is up
 */
export async function rehearseAlerts(bed: ChaosBed, options: RehearsalOptions): Promise<string[]> {
  const { report } = options;
  const closing: (() => Promise<void>)[] = [];
  const startedWith = bed.restarts.length;
  try {
    const rules = speedUpRules(readRules(), options.faster);
    const prometheus = await runPrometheus(join(options.folder, 'prometheus'), rules, targetsOf(bed));
    closing.push(prometheus.stop);
    const load = await putLoadOn(bed, options.makers, createChance(options.seed), () => true);
    closing.push(load.stop);
    closing.push(beginAsking(bed.baseUrl).stop);
    const router = runRouter(bed, options.router);
    closing.push(router.stop);
    await pause(WARM_MS);
    await untilQuiet(prometheus);
    const wrong = await runQueries(prometheus, report);
    report('| taken away | alert | after, s | over, s after it was back | others |\n|---|---|---|---|---|');
    const names = Object.keys(expected).filter((name) => name.includes(options.only));
    for (const name of names) wrong.push(...(await rehearse(name, harmsOf(name, bed, router), prometheus, report)));
    return [...wrong, ...bed.restarts.slice(startedWith)];
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

/** The addresses of processes, keyed by their service. */
function targetsOf({ stack }: ChaosBed): Record<string, string[]> {
  const targets: Record<string, string[]> = {};
  for (const { name, opsPort } of stack.processes()) {
    const service = name.replace(/-\d+$/, '');
    if (opsPort !== undefined && service in expected)
      targets[service] = [...(targets[service] ?? []), `127.0.0.1:${opsPort}`];
  }
  return targets;
}

/** Sends requests that the load does not: a PATCH without a change, which gets 400, and a GET of the pairs. */
function beginAsking(baseUrl: string): Pace {
  const headers = { 'Content-Type': 'application/json' };
  const ask = async (path: string, init: RequestInit) => {
    const answer = await fetch(new URL(path, baseUrl), init).catch(() => undefined);
    await answer?.arrayBuffer().catch(() => undefined);
  };
  return beginAtPace(ASKED_PER_SECOND, async () => {
    await ask(paths.quoteData, { method: 'PATCH', headers, body: '{"data":"0x"}' });
    await ask(paths.bookPairs, {});
  });
}

/** Runs a router that acknowledges the book. `begin` stops it, and `end` starts it again. */
function runRouter({ stack }: ChaosBed, name: string) {
  const environment = {
    KAFKA_BROKERS: stack.addresses.kafkaBrokers,
    TOPIC_PREFIX: stack.topicPrefix,
    ROUTER_NAME: name,
  };
  const start = () => startCommand(COMMAND, environment);
  let running = start();
  const stop = () => running.stop();
  const begin = async () => {
    await stop();
    const end = async () => {
      running = start();
    };
    return { detail: name, end };
  };
  return { stop, begin };
}

/** Freezes every process of a service, or makes a part refuse every connection. */
function harmsOf(name: string, bed: ChaosBed, router: Pick<Fault, 'begin'>): Pick<Fault, 'begin'>[] {
  if (name === 'router') return [router];
  const processes = bed.stack.processes().filter((process) => process.name.replace(/-\d+$/, '') === name);
  return processes.length > 0 ? processes.map((process) => freeze(bed, process.name)) : [refuseAll(bed, name)];
}

async function rehearse(
  name: string,
  harms: readonly Pick<Fault, 'begin'>[],
  prometheus: Prometheus,
  report: RehearsalOptions['report'],
): Promise<string[]> {
  const alert = expected[name] ?? '';
  await untilQuiet(prometheus);
  const takenAt = performance.now();
  const begun = await Promise.all(harms.map((harm) => harm.begin(createChance(1))));
  let firing: Firing[] = [];
  const raisedAfterMs = await waitFor(
    async () => {
      firing = await prometheus.firing();
      return firing.some((each) => each.name === alert && each.runbook.endsWith(`#${alert.toLowerCase()}`));
    },
    FIRES_MS_MAX,
    takenAt,
  );
  const others = [...new Set(firing.map((each) => each.name))].filter((each) => each !== alert);
  const backAt = performance.now();
  for (const { end } of begun) await end();
  const endedAfterMs = await waitFor(
    async () => (await prometheus.firing()).every((each) => each.name !== alert),
    ENDS_MS_MAX,
    backAt,
  );
  report(`| ${[name, alert, inSeconds(raisedAfterMs), inSeconds(endedAfterMs), others.join(', ')].join(' | ')} |`);
  if (raisedAfterMs === undefined) return [`${alert} was not raised without ${name}`];
  return endedAfterMs === undefined ? [`${alert} did not end after ${name} was back`] : [];
}

/** Waits until no alert on a cause fires. */
async function untilQuiet(prometheus: Prometheus): Promise<void> {
  let left: string[] = [];
  const tookMs = await waitFor(
    async () => {
      const firing = await prometheus.firing();
      left = firing.map(({ name }) => name).filter((name) => !burnAlerts.includes(name));
      return left.length === 0;
    },
    ENDS_MS_MAX,
    performance.now(),
  );
  if (tookMs === undefined) throw new Error(`with everything there, these alerts fire: ${left.join(', ')}`);
}

/** Runs every query of every rule and panel. Returns those without a result that could have one now. */
async function runQueries(prometheus: Prometheus, report: RehearsalOptions['report']): Promise<string[]> {
  const queries = listQueries();
  const empty: string[] = [];
  for (const { of, expr, isAlert } of queries) {
    const isEmpty = (await prometheus.count(expr)) === 0;
    if (isEmpty && !isAlert && of !== 'slo:burn_rate' && !mayBeEmpty.test(expr)) empty.push(`${of}: ${expr}`);
  }
  report(`${queries.length} queries of rules and panels were run; ${empty.length} had no result`);
  return empty.map((query) => `no result: ${query}`);
}

/** Asks until it is so. Returns milliseconds since `fromMs`, or undefined if it is not so in time. */
async function waitFor(isSo: () => Promise<boolean>, msMax: number, fromMs: number): Promise<number | undefined> {
  for (const deadline = performance.now() + msMax; performance.now() < deadline; await pause(500))
    if (await isSo()) return performance.now() - fromMs;
  return undefined;
}

function inSeconds(ms: number | undefined): string {
  return ms === undefined ? 'NEVER' : (ms / 1000).toFixed(0);
}
