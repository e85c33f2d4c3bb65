import type { Executable } from './rank-orders.js';

/** How orders are chosen for an amount. */
export interface Choice {
  readonly wanted: bigint;
  /** How much an order adds towards `wanted`. */
  readonly amountOf: (order: Executable) => bigint;
  /** True if the order gives too little to be filled. */
  readonly isDust: (order: Executable) => boolean;
  readonly countMax: number;
}

export interface Chosen {
  /** Listed in the order of the offers. */
  readonly orders: readonly Executable[];
  /** How many offers before the last chosen one were passed over: dust, and the smallest beyond `countMax`. */
  readonly passedOver: number;
  readonly isEnough: boolean;
}

/**
 * Takes offers until they are enough. If there are too many, drops the one that gives least, so dust at the best price
 * displaces no order that gives more. Leaves offers behind the last needed one in the iterator.
 */
export function chooseOrders(offers: Iterator<Executable>, { wanted, amountOf, isDust, countMax }: Choice): Chosen {
  const orders: Executable[] = [];
  let [sum, passedOver] = [0n, 0];
  /** The index of the order that gives least, once there are `countMax`. */
  let least: number | undefined;
  while (sum < wanted && countMax > 0) {
    const { done, value: order } = offers.next();
    if (done) break;
    if (orders.length === countMax) least ??= placeOfLeast(orders);
    const smallest = least === undefined ? undefined : orders[least];
    if (isDust(order) || (smallest !== undefined && order.makingAmount <= smallest.makingAmount)) {
      passedOver += 1;
      continue;
    }
    if (least !== undefined && smallest !== undefined) {
      sum -= amountOf(smallest);
      orders.splice(least, 1);
      [passedOver, least] = [passedOver + 1, undefined];
    }
    orders.push(order);
    sum += amountOf(order);
  }
  return { orders, passedOver, isEnough: sum >= wanted };
}

/** Returns the index of the order that gives least; of equal ones the last. */
function placeOfLeast(orders: readonly Executable[]): number {
  let least = 0;
  for (const [place, { makingAmount }] of orders.entries())
    if (makingAmount <= (orders[least]?.makingAmount ?? makingAmount)) least = place;
  return least;
}
