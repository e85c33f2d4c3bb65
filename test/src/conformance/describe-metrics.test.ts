import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { metrics, startTelemetry, type Telemetry } from '@makerbook/telemetry';
import { findRoot } from './find-root.js';

const root = findRoot();
const httpShell = 'shared/http/src/serve-api.ts';
const opsShell = 'shared/http/src/serve-ops.ts';
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** Where each service makes its instruments. */
const services = [
  { service: 'ingress', create: 'createMetrics' },
  { service: 'query', create: 'createMetrics' },
  { service: 'projector', create: 'createMetrics' },
  { service: 'chain-watcher', create: 'createMetrics' },
] as const;

/** Its every property is itself: what gauges are read from is never asked here, for they are given values. */
const bottomless: object = new Proxy({}, { get: () => bottomless });

/** Some are made at once, gauges when they are given what to read. */
type Create = (source: object) => { readonly observe?: (source: object) => void };
type MeterProvider = Parameters<typeof metrics.setGlobalMeterProvider>[0];

/** A row of a README's table of metrics. */
interface Row {
  readonly name: string;
  readonly unit: string;
  readonly meaning: string;
}

let telemetry: Telemetry;
let made: string[] = [];
/** The names of all metrics of a service, as a scrape shows them. */
const exposed = new Map<string, readonly string[]>();

beforeAll(async () => {
  telemetry = startTelemetry({ service: 'conformance', level: 'error', exportSpans: false });
  const provider = metrics.getMeterProvider();
  metrics.disable();
  metrics.setGlobalMeterProvider(giveValues(provider));
  let before = new Set(await scrape());
  for (const { service, create } of services) {
    made = [];
    const built = pathToFileURL(join(root, `services/${service}/dist/metrics.js`));
    const module: Readonly<Record<string, Create>> = await import(built.href);
    module[create]?.({}).observe?.(bottomless);
    const now = await scrape();
    const shown = now.filter((name) => !before.has(name));
    if (shown.length !== made.length) throw new Error(`${made} of ${service} are seen as ${shown}`);
    exposed.set(service, shown);
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

function rowsOf(service: string): Row[] {
  const [, table = ''] = read(`services/${service}/README.md`).split(
    /\| metric \| unit \| [^|\n]+ \|\n\|---\|---\|---\|\n/,
  );
  const [rows = ''] = table.split(/\n(?!\|)/);
  return rows.split('\n').map((row) => {
    const [, name = '', unit = '', meaning = ''] = row.split('|').map((cell) => cell.trim());
    return { name: name.replaceAll('`', ''), unit, meaning };
  });
}

function sourcesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\/src\/.*(?<!\.test)\.ts$/.test(file) && !/node_modules|\/testing\//.test(file))
    .map((file) => `${folder}/${file}`);
}

const madeBy = (shell: string) =>
  [...read(shell).matchAll(/\.create[A-Z]\w+\('(\w+)'/g)].map((match) => match[1] ?? '');
const metricsOfHttp = madeBy(httpShell);
const metricsOfOps = madeBy(opsShell);

test('instruments are made where this test looks for them', () => {
  const makers = ['services', 'shared'].flatMap(sourcesUnder).filter((path) => read(path).includes('getMeter('));
  const known = services.map(({ service }) => `services/${service}/src/metrics.ts`);
  expect(makers.toSorted()).toEqual([...known, httpShell, opsShell].toSorted());
  expect(metricsOfHttp).toEqual(['http_server_request_duration_seconds']);
  expect(metricsOfOps).toEqual(['service_ready', 'service_check_passing']);
});

describe.each(services.map(({ service }) => [service]))('the README of %s', (service) => {
  test('describes every metric that a scrape shows, and no other', () => {
    const isServedByShell = read(`services/${service}/src/run.ts`).includes('serveApi(');
    const shown = [...(exposed.get(service) ?? []), ...metricsOfOps, ...(isServedByShell ? metricsOfHttp : [])];
    expect(shown.length).toBeGreaterThan(3);
    expect(
      rowsOf(service)
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(shown.toSorted());
  });

  test('names the unit of each, which is the one in its name where that is a time', () => {
    for (const { name, unit, meaning } of rowsOf(service)) {
      expect({ name, unit, meaning }).toEqual({
        name,
        unit: expect.stringMatching(/./),
        meaning: expect.stringMatching(/./),
      });
      const [time] = /(?:milli)?seconds$/.exec(name) ?? [];
      expect({ name, unit: unit.split(',', 1)[0] }).toEqual({
        name,
        unit: time ?? expect.not.stringMatching(/seconds/),
      });
    }
  });
});
