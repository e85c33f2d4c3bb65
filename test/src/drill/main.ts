import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { listQueries, readRules } from '@makerbook/deploy-checks';
import { readNames, readOptions, readWhole } from '@makerbook/settings';
import { type Drill, type Outage, openDrill } from './open-drill.js';
import { putLoadOn } from './put-load-on.js';
import { type Firing, type Prometheus, runPrometheus } from './run-prometheus.js';
import { speedUpRules } from './speed-up-rules.js';

/** What is taken away, and the alert that has to say so. */
const expected: Readonly<Record<string, string>> = {
  query: 'QueryDown',
  ingress: 'IngressDown',
  projector: 'ProjectorDown',
  'chain-watcher': 'ChainWatcherDown',
  Redis: 'RedisAway',
  Postgres: 'PostgresAway',
  chain: 'ChainNodeAway',
  Kafka: 'KafkaAway',
};
/** What a query reads that has no result before something has happened, or with a setting that is off unless given. */
const mayBeEmpty =
  /"5\.\."|error_type!=""|service_check_passing == 0|(refusals|quotes_patched|fills|checks_local|rpc_failures)_total/;
/** These alerts on error budgets look back for hours, so they end late. */
const burnAlerts = readRules()
  .flatMap(({ rules }) => rules)
  .flatMap((rule) => ('alert' in rule && rule.expr.startsWith('slo:burn_rate') ? [rule.alert] : []));
const FIRES_MS_MAX = 240_000;
const ENDS_MS_MAX = 300_000;
const WARM_MS = 30_000;

const USAGE = `npm run alerts:drill -- [--faster N] [--only "name, name"] [--keep FOLDER]
  takes each dependency and each service away in turn, under load, and waits until a real Prometheus raises the alert of
  its runbook, and until that ends. --faster: how many times shorter than in production the times of the rules are, 10
  unless given (no window below a minute). --keep: leaves the data of Prometheus and all logs there. Needs prometheus on
  the PATH`;
const { values } = readOptions(USAGE, {
  faster: { type: 'string', default: '10' },
  only: { type: 'string' },
  keep: { type: 'string' },
});
const faster = readWhole(USAGE, '--faster', values.faster, 1);
const names = readNames(USAGE, '--only', values.only, Object.keys(expected));
const folder = values.keep === undefined ? mkdtempSync(join(tmpdir(), 'makerbook-drill-')) : resolve(values.keep);
const closing: (() => unknown)[] = values.keep === undefined ? [() => rmSync(folder, { recursive: true })] : [];
const stop = async () => {
  for (const close of closing.splice(0).reverse()) await close();
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => void stop().finally(() => process.exit(1)));
process.once('disconnect', () => void stop().finally(() => process.exit(1)));

let isWrong = false;
try {
  await main();
} catch (error) {
  console.error(error);
  isWrong = true;
}
await stop();
process.exit(isWrong ? 1 : 0);

async function main(): Promise<void> {
  const drill = await openDrill(folder, (line) => console.log(line));
  closing.push(drill.stop);
  const targets = Object.fromEntries(
    drill.services.running().map((name) => [name, new URL(drill.services.processOf(name).opsUrl).host]),
  );
  const prometheus = await runPrometheus(join(folder, 'prometheus'), speedUpRules(readRules(), faster), targets);
  closing.push(prometheus.stop);
  const load = putLoadOn(drill);
  closing.push(load.stop);
  await pause(WARM_MS);
  await untilQuiet(prometheus);
  await runQueries(prometheus);
  console.log('\n| taken away | alert | after, s | over, s after it was back | others |\n|---|---|---|---|---|');
  for (const name of names) await rehearse(name, drill, prometheus);
}

async function rehearse(name: string, { outages, services }: Drill, prometheus: Prometheus): Promise<void> {
  const [outage, alert] = [outages[name], expected[name]];
  if (outage === undefined || alert === undefined) throw new Error(`there is no ${name}`);
  await untilQuiet(prometheus);
  const { raisedAfterMs, others } = await takeAway(outage, alert, prometheus);
  const backAt = performance.now();
  await outage.bringBack();
  const endedAfterMs = await waitFor(
    async () => (await prometheus.firing()).every((firing) => firing.name !== alert),
    ENDS_MS_MAX,
    backAt,
  );
  services.assertAlive();
  if (raisedAfterMs === undefined || endedAfterMs === undefined) isWrong = true;
  const cells = [name, alert, inSeconds(raisedAfterMs), inSeconds(endedAfterMs), others.join(', ')];
  console.log(`| ${cells.join(' | ')} |`);
}

async function takeAway(outage: Outage, alert: string, prometheus: Prometheus) {
  const takenAt = performance.now();
  await outage.takeAway();
  let firing: Firing[] = [];
  const raisedAfterMs = await waitFor(
    async () => {
      firing = await prometheus.firing();
      return firing.some(({ name, runbook }) => name === alert && runbook.endsWith(`#${alert.toLowerCase()}`));
    },
    FIRES_MS_MAX,
    takenAt,
  );
  return { raisedAfterMs, others: [...new Set(firing.map(({ name }) => name))].filter((name) => name !== alert) };
}

/** No alert on a cause fires. */
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

/** Every query of every rule and panel is taken by Prometheus, and those have results that can have some now. */
async function runQueries(prometheus: Prometheus): Promise<void> {
  const queries = listQueries();
  const empty: string[] = [];
  for (const { of, expr, isAlert } of queries) {
    const isEmpty = (await prometheus.count(expr)) === 0;
    if (isEmpty && !isAlert && of !== 'slo:burn_rate' && !mayBeEmpty.test(expr)) empty.push(`${of}: ${expr}`);
  }
  console.log(`\n${queries.length} queries of rules and panels were run; ${empty.length} had no result`);
  for (const each of empty) console.log(`  ${each}`);
  if (empty.length > 0) isWrong = true;
}

/** Asks until it is so; milliseconds since `fromMs`, or undefined where it is not in time. */
async function waitFor(isSo: () => Promise<boolean>, msMax: number, fromMs: number): Promise<number | undefined> {
  for (const deadline = performance.now() + msMax; performance.now() < deadline; await pause(500))
    if (await isSo()) return performance.now() - fromMs;
  return undefined;
}

function inSeconds(ms: number | undefined): string {
  return ms === undefined ? 'NEVER' : (ms / 1000).toFixed(0);
}
