import type { LoadGenerator } from '../kit/generate-load.js';
import { type MakerKey, type OrderToPost, postOf } from '../kit/sign-orders.js';
import { followSteps } from './follow-steps.js';
import type { Bench } from './open-bench.js';

const ORDERS_PER_REQUEST = 100;

/** Splits items into groups of this size. */
export function inGroups<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size));
}

/** Places orders of each maker, and waits until they are ACTIVE. */
export async function placeOrders(
  bench: Bench,
  load: LoadGenerator,
  makers: readonly MakerKey[],
  perMaker: number,
): Promise<Map<MakerKey, OrderToPost[]>> {
  const steps = await followSteps(bench.stack, { withLog: false });
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
