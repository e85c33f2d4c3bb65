import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { paths } from '@makerbook/contracts-http';
import { type Environment, runServices } from '../kit/run-services.js';
import { followFeeds, untilActive } from './follow-feeds.js';
import { openLoadGenerator } from './generate-load.js';
import { type Bench, withBench } from './open-bench.js';
import { readCpu } from './read-processes.js';
import { type BenchOptions, compare, type Figure } from './report.js';
import type { BenchRequest } from './send-requests.js';
import { bodyOf } from './sign-orders.js';

const ORDERS_PER_MAKER = 1000;
const AT_ONCE = 16;
const PREFIX = 'tracing:';

interface Variant {
  readonly name: string;
  readonly settings: Environment;
}

/**
 * CPU per POST of one order, of three processes of ingress that differ in their telemetry alone, in turn on one stack: without
 * a collector, with one, and with one that gets every trace.
 */
export async function benchTracing({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const [rounds, requests] = isQuick ? [2, 300] : [10, 2000];
  const collector = await openSink();
  const toCollector = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint };
  const variants: readonly Variant[] = [
    { name: 'no collector', settings: {} },
    { name: 'default sampler', settings: toCollector },
    { name: 'every trace', settings: { ...toCollector, OTEL_TRACES_SAMPLER: 'always_on' } },
  ];
  const folder = mkdtempSync(join(tmpdir(), 'makerbook-tracing-'));
  try {
    return await withBench((bench) => measure(bench, folder, { variants, rounds, requests }), {
      REDIS_KEY_PREFIX: PREFIX,
    });
  } finally {
    await collector.stop();
    rmSync(folder, { recursive: true });
  }
}

interface Plan {
  readonly variants: readonly Variant[];
  readonly rounds: number;
  readonly requests: number;
}

async function measure(bench: Bench, folder: string, { variants, rounds, requests }: Plan): Promise<readonly Figure[]> {
  const services = runServices(folder, environmentOf(bench));
  try {
    for (const { name, settings } of variants) await services.start(name, 'ingress', settings);
    const orders = (rounds + 1) * variants.length * requests;
    const makers = await bench.openMakers(Math.ceil(orders / ORDERS_PER_MAKER), ORDERS_PER_MAKER);
    await services.ready();
    const feeds = await followFeeds(bench.stack, { withFacts: false });
    const load = openLoadGenerator();
    const taken = new Map(variants.map(({ name }): [string, number[]] => [name, []]));
    let placed = 0;
    const sign = (): BenchRequest => {
      const maker = makers[Math.floor(placed / ORDERS_PER_MAKER)];
      if (maker === undefined) throw new Error('the bench has too few makers');
      placed += 1;
      return { method: 'POST', path: paths.limitOrders, body: bodyOf([bench.signOrder(maker)]) };
    };
    for (let count = 0; count <= rounds; count += 1) {
      // Each goes first, second and last equally often.
      const inTurn = variants.map((_, index) => variants[(index + count) % variants.length] as Variant);
      for (const { name } of inTurn) {
        const ready = Array.from({ length: requests }, sign);
        const cpu = () => readCpu([services.processOf(name).pid])[0] ?? 0;
        const before = cpu();
        await load.send(Number(new URL(services.url(name)).port), ready, { atOnce: AT_ONCE });
        const used = cpu() - before;
        await untilActive(feeds, placed);
        // The first round warms up.
        if (count > 0) taken.get(name)?.push(used / requests);
      }
    }
    load.close();
    await feeds.stop();
    return report(taken);
  } finally {
    await services.stop();
  }
}

/** An ingress beside the stack's own, on the same log, rows and cache. */
function environmentOf({ stack }: Bench): Environment {
  const { addresses } = stack;
  return {
    KAFKA_BROKERS: addresses.kafkaBrokers,
    DATABASE_URL: addresses.databaseUrl,
    REDIS_URL: addresses.redisUrl,
    REDIS_KEY_PREFIX: PREFIX,
    SERVICE_NAME: addresses.serviceName,
    CHAIN_ID: String(addresses.chainId),
    LIMIT_ORDER_PROTOCOL_ADDRESS: addresses.limitOrderProtocol,
    PARTITIONS: stack.operatorEnvironment['PARTITIONS'] ?? '',
    LOG_LEVEL: 'warn',
    ORDER_BUDGET_PER_SECOND: '1000000',
    ORDER_BUDGET_BURST: '1000000',
    CLIENT_REQUESTS_MAX: '10000000',
  };
}

function report(taken: ReadonlyMap<string, readonly number[]>): readonly Figure[] {
  const [[base, floors] = ['', []], ...others] = taken;
  return others.map(([name, values]) => {
    const samples = values.map((value, round) => ({ value, floor: floors[round] ?? Number.NaN }));
    return compare(`POST of one order, ${name}, by ${base}`, 'µs of CPU of ingress', samples);
  });
}

/** Takes whatever is sent to it. */
async function openSink(): Promise<{ readonly endpoint: string; readonly stop: () => Promise<void> }> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
