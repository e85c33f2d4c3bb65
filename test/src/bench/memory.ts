import { setTimeout as pause } from 'node:timers/promises';
import { paths } from '@makerbook/contracts-http';
import { openLoadGenerator } from '../kit/generate-load.js';
import { type MemoryUse, readMemory } from '../kit/read-processes.js';
import { bodyOf } from '../kit/sign-orders.js';
import { followFeeds, untilCount } from './follow-feeds.js';
import { type Bench, withBench } from './open-bench.js';
import { type BenchOptions, compare, type Figure } from './report.js';

const ORDERS_PER_MAKER = 1000;
const ORDERS_PER_REQUEST = 100;
const SETTLE_MS = 5_000;

/** Memory of every process of the stack after 10,000 orders, by what it was with nothing to do. */
export async function benchMemory({ isQuick }: BenchOptions): Promise<readonly Figure[]> {
  const makersCount = isQuick ? 1 : 10;
  return withBench(async (bench) => {
    const makers = await bench.openMakers(makersCount, ORDERS_PER_MAKER);
    const feeds = await followFeeds(bench.stack);
    const load = openLoadGenerator();
    const idle = await readSettled(bench);
    const requests = makers.flatMap((maker) =>
      Array.from({ length: ORDERS_PER_MAKER / ORDERS_PER_REQUEST }, () => {
        const orders = Array.from({ length: ORDERS_PER_REQUEST }, () => bench.signOrder(maker));
        return { method: 'POST' as const, path: paths.limitOrders, body: bodyOf(orders) };
      }),
    );
    await load.send(bench.portOf('ingress'), requests, { atOnce: 4 });
    load.close();
    const orders = makersCount * ORDERS_PER_MAKER;
    await untilCount(feeds, 'ACTIVE', orders);
    const after = await readSettled(bench);
    await feeds.stop();

    const figures = [...after].flatMap(([name, now]) => describe(name, now, idle.get(name)));
    return [...figures, ...describe('all together', total(after), total(idle))];
  });
}

/** After the orders, by idle. */
function describe(name: string, after: MemoryUse, idle: MemoryUse | undefined): readonly Figure[] {
  const of = `${name}${after.processes === 1 ? '' : `, ${after.processes} processes`}`;
  const one = (unit: 'rssMb' | 'pssMb') => [{ value: after[unit], floor: idle?.[unit] ?? Number.NaN }];
  return [compare(`RSS of ${of}`, 'MB', one('rssMb')), compare(`PSS of ${of}`, 'MB', one('pssMb'))];
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
