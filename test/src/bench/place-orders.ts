import type { LoadGenerator } from '../kit/generate-load.js';
import { type MakerKey, type OrderToPost, postOf } from '../kit/sign-orders.js';
import { followSteps } from './follow-steps.js';
import type { Bench } from './open-bench.js';

const ORDERS_PER_REQUEST = 100;

/** The items in turn. @throws Error where there are none */
export function itemAt<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length];
  if (item === undefined) throw new Error('the bench has opened too few makers');
  return item;
}

export function inGroups<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size));
}

export async function placeOrders(
  bench: Bench,
  load: LoadGenerator,
  makers: readonly MakerKey[],
  perMaker: number,
): Promise<Map<MakerKey, OrderToPost[]>> {
  const steps = await followSteps(bench.stack);
  const placed = new Map<MakerKey, OrderToPost[]>();
  for (const maker of makers) {
    const orders = Array.from({ length: perMaker }, () => bench.signOrder(maker));
    await load.send(bench.portOf('ingress'), inGroups(orders, ORDERS_PER_REQUEST).map(postOf), { atOnce: 4 });
    placed.set(maker, orders);
  }
  await steps.untilCount('ACTIVE', makers.length * perMaker);
  await steps.stop();
  return placed;
}
