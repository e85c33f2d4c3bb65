import type { Executable } from './rank-orders.js';

/** How orders are chosen for an amount. */
export interface Choice {
  readonly wanted: bigint;
  /** What an order adds to what is wanted. */
  readonly amountOf: (order: Executable) => bigint;
  /** An order that gives too little to be filled. */
  readonly isDust: (order: Executable) => boolean;
  readonly countMax: number;
}

export interface Chosen {
  /** In the order in which they were offered. */
  readonly orders: readonly Executable[];
  /** Offers before the last chosen one that were passed over: dust, and the smallest beyond `countMax`. */
  readonly passedOver: number;
  readonly isEnough: boolean;
}

/**
 * Takes offers until they are enough. Where they are too many, the one that gives least goes: dust at the best price
 * displaces no order that gives more. Offers behind the last one that was needed are left in the iterator.
 */
export function chooseOrders(offers: Iterator<Executable>, { wanted, amountOf, isDust, countMax }: Choice): Chosen {
  const orders: Executable[] = [];
  let [sum, passedOver] = [0n, 0];
  /** The place of the order that gives least, once there are `countMax`. */
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

/** Of equal ones the last. */
function placeOfLeast(orders: readonly Executable[]): number {
  let least = 0;
  for (const [place, { makingAmount }] of orders.entries())
    if (makingAmount <= (orders[least]?.makingAmount ?? makingAmount)) least = place;
  return least;
}
