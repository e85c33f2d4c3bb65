import { paths } from '@makerbook/contracts-http';
import type { LoadGenerator } from '../kit/generate-load.js';
import type { PreparedRequest } from '../kit/send-requests.js';
import { bodyOf, type MakerKey, type OrderToPost } from '../kit/sign-orders.js';
import { followFeeds, untilCount } from './follow-feeds.js';
import type { Bench } from './open-bench.js';

/** Open orders that a maker may have. */
export const ORDERS_PER_MAKER = 1000;
const ORDERS_PER_REQUEST = 100;

/** The POST of these orders. */
export function postOf(orders: readonly OrderToPost[]): PreparedRequest {
  return { method: 'POST', path: paths.limitOrders, body: bodyOf(orders) };
}

/** Opens makers for so many orders, and answers with a function that signs the next few, all of one maker. */
export async function openOrders(bench: Bench, orders: number): Promise<(count: number) => OrderToPost[]> {
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
  makers: readonly MakerKey[],
  perMaker: number,
): Promise<ReadonlyMap<MakerKey, readonly OrderToPost[]>> {
  const feeds = await followFeeds(bench.stack);
  const before = feeds.count('ACTIVE');
  const placed = new Map<MakerKey, readonly OrderToPost[]>();
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
