import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openLoadGenerator } from '../kit/generate-load.js';
import {
  type Contender,
  createRounds,
  inTurn,
  measureRequests,
  type Variant,
  withVariants,
} from './compare-services.js';
import { followFeeds, untilCount } from './follow-feeds.js';
import { type Bench, withBench } from './open-bench.js';
import { openOrders, postOf } from './place-orders.js';
import { type BenchOptions, compare, type Figure } from './report.js';

const AT_ONCE = 16;
const PLAIN = 'no collector';

/**
 * CPU per POST of one order, of three processes of ingress that differ in their telemetry alone, in turn on one stack: without
 * a collector, with one, and with one that gets every trace.
 */
export async function benchTracing({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const [rounds, requests] = isQuick ? [2, 300] : [10, 2000];
  const collector = await openSink();
  const toCollector = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint };
  const variants: readonly Variant[] = [
    { name: PLAIN },
    { name: 'default sampler', settings: toCollector },
    { name: 'every trace', settings: { ...toCollector, OTEL_TRACES_SAMPLER: 'always_on' } },
  ];
  try {
    return await withBench((bench) =>
      withVariants(bench, 'ingress', variants, (contenders) => measure(bench, contenders, { rounds, requests })),
    );
  } finally {
    await collector.stop();
  }
}

async function measure(
  bench: Bench,
  contenders: readonly Contender[],
  { rounds, requests }: { readonly rounds: number; readonly requests: number },
): Promise<readonly Figure[]> {
  const nextOrders = await openOrders(bench, (rounds + 1) * contenders.length * requests);
  const feeds = await followFeeds(bench.stack);
  const load = openLoadGenerator();
  const taken = createRounds();
  let placed = 0;
  for (let round = 0; round <= rounds; round += 1) {
    for (const contender of inTurn(contenders, round)) {
      const ready = Array.from({ length: requests }, () => postOf(nextOrders(1)));
      const us = await measureRequests(load, contender, ready, AT_ONCE);
      placed += requests;
      await untilCount(feeds, 'ACTIVE', placed);
      // The first round warms up.
      if (round > 0) taken.add(contender.name, us);
    }
  }
  load.close();
  await feeds.stop();
  return contenders
    .slice(1)
    .map(({ name }) => compare(`POST of 1, ${name}, by ${PLAIN}`, 'µs of CPU', taken.compare(name, PLAIN)));
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
