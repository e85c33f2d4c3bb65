import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { metrics, observePool, startTelemetry, type Telemetry, timeOperations } from '@makerbook/telemetry';
import { findRoot } from './find-root.js';

const root = findRoot();
const opsShell = 'shared/http/src/serve-ops.ts';
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const services = ['ingress', 'query', 'feed', 'projector', 'chain-watcher'];

/** Where instruments are made that several services have; shared/telemetry's README describes them. */
const sharedMakers = [
  'shared/http/src/observe-requests.ts',
  'shared/telemetry/src/create-instruments.ts',
  'shared/telemetry/src/measure-clients.ts',
];
/** Metrics of the SDK itself. */
const ofRuntime = /^(nodejs|v8js)_|^target_info$/;

/** Its every property is itself: what gauges are read from is never asked here, for they are given values. */
const bottomless: object = new Proxy({}, { get: () => bottomless });

/** Some are made at once, gauges when they are given what to read. */
type Create = (source: object) => { readonly observe?: (source: object) => void };
type MeterProvider = Parameters<typeof metrics.setGlobalMeterProvider>[0];

let telemetry: Telemetry;
let made: string[] = [];
/** The names of all metrics of a service, as a scrape shows them. */
const exposed = new Map<string, readonly string[]>();

beforeAll(async () => {
  telemetry = startTelemetry('conformance', { LOG_LEVEL: 'error' });
  const provider = metrics.getMeterProvider();
  metrics.disable();
  metrics.setGlobalMeterProvider(giveValues(provider));
  collectGarbage();
  const shared = await import(pathToFileURL(join(root, 'shared/http/dist/observe-requests.js')).href);
  shared.observeRequests();
  timeOperations('redis');
  observePool('postgresql', 'postgresql', () => ({ idle: 0, used: 0, waiting: 0 }));
  await untilShown(/^v8js_gc_duration/, /^nodejs_eventloop_delay_p99/);
  let before = new Set(await scrape());
  exposed.set('shared/telemetry', [...before]);
  for (const service of services) {
    made = [];
    const built = pathToFileURL(join(root, `services/${service}/dist/metrics.js`));
    const module: Readonly<Record<string, Create>> = await import(built.href);
    module['createMetrics']?.({}).observe?.(bottomless);
    const now = await scrape();
    const shown = now.filter((name) => !before.has(name) && !ofRuntime.test(name));
    if (shown.length !== made.length) throw new Error(`${made} of ${service} are seen as ${shown}`);
    exposed.set(`services/${service}`, shown);
    before = new Set(now);
  }
});
afterAll(() => telemetry.stop());

/** A provider whose every instrument has a value from the start: one without is not in a scrape. */
function giveValues(provider: MeterProvider): MeterProvider {
  return {
    getMeter: (...scope) =>
      new Proxy(provider.getMeter(...scope), {
        get:
          (meter, method: 'createCounter' | 'createHistogram' | 'createObservableGauge') =>
          (name: string, options: object) => {
            // What is observed in a batch has its value all the same.
            if (!method.startsWith('create')) return;
            made.push(name);
            const instrument = meter[method](name, options);
            if ('addCallback' in instrument) {
              instrument.addCallback((result) => result.observe(1));
              return { addCallback: () => undefined };
            }
            if ('add' in instrument) instrument.add(1);
            else instrument.record(1);
            return instrument;
          },
      }),
  };
}

async function scrape(): Promise<string[]> {
  const text = await new Promise<string>((resolve) => {
    const response = { setHeader: () => undefined, end: resolve };
    telemetry.serveMetrics({} as IncomingMessage, response as unknown as ServerResponse);
  });
  return [...text.matchAll(/^# TYPE (\w+) /gm)].map((match) => match[1] ?? '');
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

async function untilShown(...names: readonly RegExp[]): Promise<void> {
  for (;;) {
    const shown = await scrape();
    if (names.every((wanted) => shown.some((name) => wanted.test(name)))) return;
    await pause(20);
  }
}

/** The names in a README's table of metrics. */
function namesIn(folder: string): string[] {
  const [, table = ''] = read(`${folder}/README.md`).split(/\| metric \| unit \| [^|\n]+ \|\n\|---\|---\|---\|\n/);
  const [rows = ''] = table.split(/\n(?!\|)/);
  return [...rows.matchAll(/^\| `(\w+)`/gm)].map(([, name = '']) => name);
}

function sourcesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\/src\/.*(?<!\.test)\.ts$/.test(file) && !/node_modules|\/testing\//.test(file))
    .map((file) => `${folder}/${file}`);
}

const metricsOfOps = [...read(opsShell).matchAll(/\.create[A-Z]\w+\('(\w+)'/g)].map((match) => match[1] ?? '');

test('instruments are made where this test looks for them', () => {
  const makers = ['services', 'shared']
    .flatMap(sourcesUnder)
    .filter((path) => /getMeter\(|= createInstruments\(/.test(read(path)));
  const known = services.map((service) => `services/${service}/src/metrics.ts`);
  expect(makers.toSorted()).toEqual([...known, ...sharedMakers, opsShell].toSorted());
  expect(metricsOfOps).toEqual(['service_ready', 'service_check_passing']);
});

const folders = ['shared/telemetry', ...services.map((service) => `services/${service}`)];

test.each(folders)('the README of %s describes every metric that a scrape shows, and no other', (folder) => {
  const shown = [...(exposed.get(folder) ?? []), ...(folder.startsWith('shared/') ? metricsOfOps : [])];
  expect(shown.length).toBeGreaterThan(3);
  expect(namesIn(folder).toSorted()).toEqual(shown.toSorted());
});
