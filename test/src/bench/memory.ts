import { setTimeout as pause } from 'node:timers/promises';
import { paths } from '@makerbook/contracts-http';
import { followFeeds } from './follow-feeds.js';
import { type Bench, withBench } from './open-bench.js';
import { type MemoryUse, readMemory } from './read-processes.js';
import { openSender } from './send-requests.js';
import { bodyOf } from './sign-orders.js';
import { printTable, round } from './summarise.js';

const ORDERS_PER_MAKER = 1000;
const ORDERS_PER_REQUEST = 100;
const SETTLE_MS = 5_000;
const DRAIN_MS_MAX = 120_000;

/** Memory of every process of the stack, with nothing to do and after 10,000 orders. */
export async function benchMemory(isQuick: boolean): Promise<void> {
  const makersCount = isQuick ? 1 : 10;
  await withBench(async (bench) => {
    const makers = await bench.openMakers(makersCount, ORDERS_PER_MAKER);
    const feeds = await followFeeds(bench.stack, { withFacts: false });
    const sender = openSender(bench.portOf('ingress'));
    const idle = await readSettled(bench);
    const requests = makers.flatMap((maker) =>
      Array.from({ length: ORDERS_PER_MAKER / ORDERS_PER_REQUEST }, () => {
        const orders = Array.from({ length: ORDERS_PER_REQUEST }, () => bench.signOrder(maker));
        return { method: 'POST' as const, path: paths.limitOrders, body: bodyOf(orders) };
      }),
    );
    await sender.sendAll(requests, 4);
    const orders = makersCount * ORDERS_PER_MAKER;
    const deadline = performance.now() + DRAIN_MS_MAX;
    while (feeds.activeCount() < orders) {
      if (performance.now() > deadline) throw new Error(`only ${feeds.activeCount()} orders became ACTIVE`);
      await pause(100);
    }
    const after = await readSettled(bench);
    sender.close();
    await feeds.stop();

    const row = (before: MemoryUse | undefined, now: MemoryUse) => ({
      processes: now.processes,
      'idle RSS, MB': round(before?.rssMb ?? Number.NaN),
      'idle PSS, MB': round(before?.pssMb ?? Number.NaN),
      'RSS after, MB': round(now.rssMb),
      'PSS after, MB': round(now.pssMb),
    });
    printTable(
      `Memory of every process with its descendants, idle and ${SETTLE_MS / 1000} s after ${orders} orders; PSS shares out what several processes map.`,
      {
        ...Object.fromEntries([...after].map(([name, now]) => [name, row(idle.get(name), now)])),
        all: row(total(idle), total(after)),
      },
    );
  });
}

async function readSettled({ stack }: Bench): Promise<ReadonlyMap<string, MemoryUse>> {
  await pause(SETTLE_MS);
  return new Map(stack.processes().map(({ name, pid }) => [name, readMemory(pid)]));
}

function total(uses: ReadonlyMap<string, MemoryUse>): MemoryUse {
  return [...uses.values()].reduce((sum, { rssMb, pssMb, processes }) => ({
    rssMb: sum.rssMb + rssMb,
    pssMb: sum.pssMb + pssMb,
    processes: sum.processes + processes,
  }));
}
