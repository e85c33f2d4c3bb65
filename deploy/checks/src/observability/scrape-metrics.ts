import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { metrics, observePool, startTelemetry, timeOperations } from '@makerbook/telemetry';
import { readText, root } from '../read-manifests.js';

/** The description of each metric in a scrape (`# HELP`), keyed by name. */
export type Described = ReadonlyMap<string, string>;

/** Metrics of the SDK itself. */
const ofRuntime = /^(nodejs|v8js)_|^target_info$/;

/** A stand-in for the source of gauges. Nobody reads it, because each gauge is given a value. */
const bottomless: object = new Proxy({}, { get: () => bottomless });

/** Makes some metrics at once. Makes gauges when `observe` gets their source. */
type Create = (source: object) => { readonly observe?: (source: object) => void };
type MeterProvider = Parameters<typeof metrics.setGlobalMeterProvider>[0];

/** Makes and scrapes the metrics of each service. Those that several services have are under `shared`. */
export async function scrapeMetrics(services: readonly string[]): Promise<ReadonlyMap<string, Described>> {
  const telemetry = startTelemetry('checks', { LOG_LEVEL: 'error' });
  const scrape = async (): Promise<Described> => {
    const text = await new Promise<string>((resolve) => {
      const response = { setHeader: () => undefined, end: resolve };
      telemetry.serveMetrics({} as IncomingMessage, response as unknown as ServerResponse);
    });
    return new Map([...text.matchAll(/^# HELP (\w+) (.*)$/gm)].map(([, name = '', help = '']) => [name, help]));
  };
  let made = 0;
  giveValues(() => made++);
  collectGarbage();
  const { observeRequests } = await import(`${root}shared/http/dist/observe-requests.js`);
  observeRequests();
  timeOperations('redis');
  observePool('postgresql', 'postgresql', () => ({ idle: 0, used: 0, waiting: 0 }));
  let shown = await scrape();
  while (!['v8js_gc_duration', 'nodejs_eventloop_delay_p99'].every((begin) => hasOne(shown, begin))) {
    await pause(20);
    shown = await scrape();
  }
  const scraped = new Map([['shared', new Map([...shown, ...metricsOfOps()])]]);
  for (const service of services) {
    made = 0;
    const module: Readonly<Record<string, Create>> = await import(`${root}services/${service}/dist/metrics.js`);
    module['createMetrics']?.({}).observe?.(bottomless);
    const before = shown;
    shown = await scrape();
    const own = [...shown].filter(([name]) => !before.has(name) && !ofRuntime.test(name));
    if (own.length !== made) throw new Error(`${service} has made ${made} metrics, and a scrape shows ${own.length}`);
    scraped.set(service, new Map(own));
  }
  await telemetry.stop();
  return scraped;
}

const hasOne = (shown: Described, begin: string) => [...shown.keys()].some((name) => name.startsWith(begin));

/** Returns the metrics of the ops port, which exist only while it is open. */
function metricsOfOps(): Described {
  const source = readText('shared/http/src/serve-ops.ts');
  const found = source.matchAll(/\.create[A-Z]\w+\('(\w+)', \{\s*description: '([^']+)'/g);
  return new Map([...found].map(([, name = '', help = '']) => [name, help]));
}

/** Gives every instrument a value from the start: a scrape leaves out one without. */
function giveValues(count: () => void): void {
  const provider: MeterProvider = metrics.getMeterProvider();
  metrics.disable();
  metrics.setGlobalMeterProvider({
    getMeter: (...scope) =>
      new Proxy(provider.getMeter(...scope), {
        get:
          (meter, method: 'createCounter' | 'createHistogram' | 'createObservableGauge') =>
          (name: string, options: object) => {
            // Skip batch callbacks: their instruments have values already.
            if (!method.startsWith('create')) return;
            count();
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
  });
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}
