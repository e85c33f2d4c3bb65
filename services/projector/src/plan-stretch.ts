import type { DueMaker } from '@makerbook/postgres';
import { clockAfter } from './fold-facts.js';
import type { LoggedFact } from './read-facts.js';

/** What one commit takes on: facts from the first on, and the makers with orders that are due for one of their blocks. */
export interface StretchPlan {
  readonly count: number;
  readonly due: readonly DueMaker[];
  /** False where more is due than one commit may hold: it takes on a slice of one block, and the others follow. */
  readonly isWhole: boolean;
}

/** Where the partition stands. */
export interface PlanStart {
  readonly clockSeconds: number;
  /** No order is due before the clock reaches this second. */
  readonly nextDueSeconds: number;
  /** Slices of the first fact that were committed; its makers are no longer due. */
  readonly slices: number;
}

/**
 * Takes as many facts as have no more than `ordersMax` open orders due for something. The orders of a maker count
 * together, for they are loaded together. Where a single block is too much, it is cut into slices: makers by their
 * address, at least one, so that what the block did stands in the same order as if it had been folded at once.
 * @param findDue the first makers by address, `makersMax` of them, that are due when the clock stands at `clockSeconds`
 */
export async function planStretch(
  facts: readonly LoggedFact[],
  start: PlanStart,
  ordersMax: number,
  findDue: (clockSeconds: number, makersMax: number) => Promise<readonly DueMaker[]>,
): Promise<StretchPlan> {
  for (let count = start.slices > 0 ? Math.min(1, facts.length) : facts.length; ; count >>= 1) {
    const taken = facts.slice(0, count);
    const clockSeconds = clockAfter(taken, start.clockSeconds);
    const hasBlock = taken.some(({ fact }) => fact.type === 'BlockProcessed');
    if (!hasBlock || clockSeconds < start.nextDueSeconds) return { count, due: [], isWhole: true };
    const due = await findDue(clockSeconds, ordersMax + 1);
    const slice = due.slice(0, makersWithin(due, ordersMax));
    const isWhole = slice.length === due.length;
    if (isWhole || count === 1) return { count, due: slice, isWhole };
  }
}

/** The orders that a plan counts on. */
export function ordersOf(due: readonly DueMaker[]): number {
  return due.reduce((sum, one) => sum + countOf(one), 0);
}

function makersWithin(due: readonly DueMaker[], ordersMax: number): number {
  let orders = 0;
  for (const [index, one] of due.entries()) {
    orders += countOf(one);
    if (orders > ordersMax && index > 0) return index;
  }
  return due.length;
}

/** A maker who is due has an order, whatever the read model counts. */
function countOf({ openOrders }: DueMaker): number {
  return Math.max(1, openOrders);
}
