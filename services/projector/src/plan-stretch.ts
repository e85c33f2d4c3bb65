import type { DueMaker } from '@makerbook/postgres';
import { clockAfter } from './fold-facts.js';
import type { LoggedFact } from './read-facts.js';

/**
 * What one commit takes on: facts from the first on, and the makers with orders for which one of their blocks does
 * something: that are due, or that its watcher did not know.
 */
export interface StretchPlan {
  readonly count: number;
  readonly due: readonly DueMaker[];
  /** False where more is due than one commit may hold: it takes on a slice of one block, and the others follow. */
  readonly isWhole: boolean;
}

/** Where the partition stands. */
export interface PlanStart {
  readonly clockSeconds: number;
  /** The newest block that was folded. */
  readonly blockNumber: number | undefined;
  /** No order that was folded was accepted after this offset. An upper bound. */
  readonly newestOffset: bigint;
  /** No order is due before the clock reaches this second. */
  readonly nextDueSeconds: number;
  /** Slices of the first fact that were committed; its makers are no longer due. */
  readonly slices: number;
}

/** Whom the blocks of a stretch may concern, beside the makers that it has facts about. */
export interface Concerned {
  /** Those with orders that are due when the clock stands there; undefined: nobody is. */
  readonly clockSeconds: number | undefined;
  readonly missed: MissedOrders | undefined;
}

/** Orders that were accepted at `knownOffset` or later, and seen last before the block: its watcher did not know them. */
export interface MissedOrders {
  readonly knownOffset: bigint;
  readonly blockNumber: number;
}

/**
 * Takes as many facts as do something for no more than `ordersMax` open orders by their blocks. The orders of a maker count
 * together, for they are loaded together. Where a single block is too much, it is cut into slices: makers by their
 * address, at least one, so that what the block did stands in the same order as if it had been folded at once.
 * @param findDue the first makers by address, `makersMax` of them. Some more that no block concerns do no harm, but where
 * it is one block: a maker that was folded in a slice must not be found for the next one
 */
export async function planStretch(
  facts: readonly LoggedFact[],
  start: PlanStart,
  ordersMax: number,
  findDue: (concerned: Concerned, makersMax: number) => Promise<readonly DueMaker[]>,
): Promise<StretchPlan> {
  for (let count = start.slices > 0 ? Math.min(1, facts.length) : facts.length; ; count >>= 1) {
    const taken = facts.slice(0, count);
    const concerned = { clockSeconds: dueBy(taken, start), missed: missedBy(taken, start) };
    if (concerned.clockSeconds === undefined && concerned.missed === undefined)
      return { count, due: [], isWhole: true };
    const due = await findDue(concerned, ordersMax + 1);
    const slice = due.slice(0, makersWithin(due, ordersMax));
    const isWhole = slice.length === due.length;
    if (isWhole || count === 1) return { count, due: slice, isWhole };
  }
}

/** The clock after the facts, where a block among them can make something due. */
function dueBy(facts: readonly LoggedFact[], start: PlanStart): number | undefined {
  const clockSeconds = clockAfter(facts, start.clockSeconds);
  const hasBlock = facts.some(({ fact }) => fact.type === 'BlockProcessed');
  return hasBlock && clockSeconds >= start.nextDueSeconds ? clockSeconds : undefined;
}

/** All that the blocks may have missed of the orders that were folded before: those of makers with facts are loaded anyway. */
function missedBy(facts: readonly LoggedFact[], start: PlanStart): MissedOrders | undefined {
  let processed = start.blockNumber ?? -1;
  let missed: MissedOrders | undefined;
  for (const { fact } of facts) {
    if (fact.type !== 'BlockProcessed' || fact.block.number <= processed) continue;
    processed = fact.block.number;
    const known = fact.knownOffset === undefined ? undefined : BigInt(fact.knownOffset);
    if (known === undefined || known > start.newestOffset) continue;
    const knownOffset = missed === undefined || known < missed.knownOffset ? known : missed.knownOffset;
    missed = { knownOffset, blockNumber: processed };
  }
  return missed;
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
