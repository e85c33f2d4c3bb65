import { paths } from '@makerbook/contracts-http';
import { followFeeds, untilCount } from './follow-feeds.js';
import type { LoadGenerator } from './generate-load.js';
import type { Bench } from './open-bench.js';
import type { BenchRequest } from './send-requests.js';
import { type BenchMaker, type BenchOrder, bodyOf } from './sign-orders.js';

/** Open orders that a maker may have. */
export const ORDERS_PER_MAKER = 1000;
const ORDERS_PER_REQUEST = 100;

/** The POST of these orders. */
export function postOf(orders: readonly BenchOrder[]): BenchRequest {
  return { method: 'POST', path: paths.limitOrders, body: bodyOf(orders) };
}

/** Opens makers for so many orders, and answers with a function that signs the next few, all of one maker. */
export async function openOrders(bench: Bench, orders: number): Promise<(count: number) => BenchOrder[]> {
  const makers = await bench.openMakers(Math.ceil(orders / ORDERS_PER_MAKER) + 1, ORDERS_PER_MAKER);
  let signed = 0;
  return (count) => {
    // A maker who has no place for all of them gets none.
    const maker = makers[Math.floor((signed + count - 1) / ORDERS_PER_MAKER)];
    if (maker === undefined) throw new Error('the bench has opened too few makers');
    signed += count;
    return Array.from({ length: count }, () => bench.signOrder(maker));
  };
}

/** Orders of each maker, placed and ACTIVE. */
export async function placeOrders(
  bench: Bench,
  load: LoadGenerator,
  makers: readonly BenchMaker[],
  perMaker: number,
): Promise<ReadonlyMap<BenchMaker, readonly BenchOrder[]>> {
  const feeds = await followFeeds(bench.stack);
  const before = feeds.count('ACTIVE');
  const placed = new Map<BenchMaker, readonly BenchOrder[]>();
  for (const maker of makers) {
    const orders = Array.from({ length: perMaker }, () => bench.signOrder(maker));
    const requests = [];
    for (let from = 0; from < perMaker; from += ORDERS_PER_REQUEST) {
      requests.push(postOf(orders.slice(from, from + ORDERS_PER_REQUEST)));
    }
    await load.send(bench.portOf('ingress'), requests, { atOnce: 4 });
    placed.set(maker, orders);
  }
  await untilCount(feeds, 'ACTIVE', before + makers.length * perMaker);
  await feeds.stop();
  return placed;
}
