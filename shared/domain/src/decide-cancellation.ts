import { type Address, type Hex, quantity } from '@makerbook/contracts-primitives';
import { decidePlacement, IN_FLIGHT_RETRY_MS, type Placement } from './decide-placement.js';
import type { Cutoff } from './exits.js';
import type { Budget } from './standing.js';
import {
  applyDecisions,
  type Decision,
  draftOf,
  hashOf,
  isSpent,
  makerOf,
  retryAfterMsOf,
  type Standing,
  spend,
} from './standing.js';
import { type Refusal, refused, unavailable, type Verdict } from './verdict.js';

/** A hash that a maker cancels, with the partition of the maker's facts and the maker's budget of cancellations. */
export interface CancelledHash {
  readonly maker: Address;
  readonly partition: number;
  readonly orderHash: Hex;
  readonly budget: Budget;
}

/** Cancellations with proven signatures, each hash once. All of them are stored, or none. */
export interface Cancellation {
  readonly kind: 'cancellation';
  readonly lastsMs: number;
  /** Listed in the order of the request. */
  readonly hashes: readonly CancelledHash[];
  /** Hashes that nobody is known to have placed, with the maker's budget of orders. Each may be kept forever. */
  readonly unplaced: readonly (CancelledHash & { readonly ordersBudget: Budget })[];
  readonly rememberedMax: number;
}

/** Cancels open orders of a maker and places others instead, all or nothing. */
export interface Replacement {
  readonly kind: 'replacement';
  readonly placement: Placement;
  /** Each hash once, in the order of the request. */
  readonly cancels: readonly CancelledHash[];
  /**
   * The amount that the request expects to be left: of each item's order, or of all orders together. If it does not
   * say, it expects all that they sell.
   */
  readonly expected:
    | readonly { readonly orderHash: Hex; readonly remaining?: bigint | undefined }[]
    | { readonly ofAll: bigint | undefined };
}

/** Cancels all open orders of a maker. */
export interface CancelAll {
  readonly kind: 'cancel-all';
  readonly lastsMs: number;
  readonly budget: Budget;
  readonly maker: Address;
  readonly partition: number;
  readonly scope: Cutoff;
  /** The mark of the request in flight, which a list waits for. */
  readonly mark: Hex;
}

/** A cutoff is kept for minutes: the budget bounds how many a maker can have. */
export const CANCEL_ALL_COST = 100;

/** Charges the budgets of cancellations and marks the orders, which no longer count as open. */
export function decideCancellation(standing: Standing, request: Cancellation, nowMs: number): Verdict {
  const unplaced = markUnplaced(standing, request, nowMs);
  if (unplaced.refusal !== undefined) return unplaced;
  if (request.hashes.length === 0) return unplaced;
  const charged = chargeCancels(standing, request.hashes, nowMs);
  if (charged.refusal !== undefined) {
    return { ...charged, decisions: unplaced.decisions.filter(({ kind }) => kind === 'charge') };
  }
  const marks = request.hashes.map((hash) => markOf(hash, nowMs + request.lastsMs));
  return { ...charged, decisions: [...unplaced.decisions, ...charged.decisions, ...marks] };
}

function markOf({ maker, partition, orderHash }: CancelledHash, untilMs: number): Extract<Decision, { kind: 'mark' }> {
  return { kind: 'mark', maker, partition, orderHash, untilMs };
}

/** Charges the makers by ascending address, all or none. */
function chargeCancels(standing: Standing, hashes: readonly CancelledHash[], nowMs: number, cost = 1): Verdict {
  const budgets = new Map(hashes.map(({ maker, budget }) => [maker, budget]));
  const owners = [...budgets]
    .map(([maker, budget]) => ({ maker, budget }))
    .sort((a, b) => (a.maker < b.maker ? -1 : 1));
  const spent = owners.map(({ maker, budget }) => {
    // Charge at most a full budget: a salt may name more orders, and a maker can always cancel.
    const count = Math.min(cost * hashes.filter((hash) => hash.maker === maker).length, Math.max(cost, budget.burst));
    return { maker, budget, count, ...spend(makerOf(standing, maker).cancels, budget, count, nowMs) };
  });
  const beyond = spent.filter(({ left }) => isSpent(left));
  const [first] = beyond;
  if (first !== undefined) {
    const left = {
      of: 'cancels',
      makers: owners,
      remaining: spent.map((one) => Math.floor(one.left + one.count)),
    } as const;
    const costs = cost === 1 ? '' : `; this costs ${cost}`;
    const detail = `the maker's budget of ${first.budget.ratePerSecond} cancellations per second is spent${costs}`;
    const index = hashes.findIndex(({ maker }) => maker === first.maker);
    const retryAfterMs = Math.max(...beyond.map((one) => retryAfterMsOf(one.left, one.budget)));
    return { ...refused({ code: 'rate_limited', detail, index, retryAfterMs }), left };
  }
  return {
    decisions: spent.map(({ maker, left, atMs }) => ({ kind: 'charge', maker, of: 'cancels', tokens: { left, atMs } })),
    left: { of: 'cancels', makers: owners, remaining: spent.map(({ left }) => Math.floor(Math.max(0, left))) },
    ofClient: 0,
  };
}

/**
 * Charges cancellations of hashes that nobody has placed as if they were orders, and limits how many may be remembered.
 * Hashes that are remembered or in flight already cost nothing.
 */
function markUnplaced(standing: Standing, { unplaced, lastsMs, rememberedMax }: Cancellation, nowMs: number): Verdict {
  const decisions: Decision[] = [];
  let left: Verdict['left'];
  for (const [maker, own] of Map.groupBy(unplaced, (hash) => hash.maker)) {
    const budget = own[0]?.ordersBudget ?? { ratePerSecond: 1, burst: 0 };
    const count = own.filter(({ orderHash }) => {
      const { remembered, inFlight, isCancelling } = hashOf(standing, orderHash);
      return remembered === undefined && inFlight === undefined && isCancelling !== true;
    }).length;
    const { orders, remembered, onTheirWay } = makerOf(standing, maker);
    const spent = spend(orders, budget, count, nowMs);
    const isBeyond = isSpent(spent.left);
    const remaining = Math.floor(isBeyond ? spent.left + count : Math.max(0, spent.left));
    left = { of: 'orders', makers: [{ maker, budget }], remaining: [remaining] };
    if (isBeyond)
      return { decisions: chargesOf(decisions), refusal: refuseUnplaced(budget, spent.left, count), left, ofClient: 0 };
    decisions.push({ kind: 'charge', maker, of: 'orders', tokens: spent });
    if (count > 0 && remembered + onTheirWay + count > rememberedMax) {
      const refusal = refuseAsRemembered(`the maker's limit is ${rememberedMax}`);
      return { decisions: chargesOf(decisions), refusal, left, ofClient: 0 };
    }
    decisions.push(...own.map((hash) => markOf(hash, nowMs + lastsMs)));
  }
  return { decisions, ofClient: 0 };
}

function chargesOf(decisions: readonly Decision[]): Decision[] {
  return decisions.filter(({ kind }) => kind === 'charge');
}

const AS_REMEMBERED = 'a cancellation of an unknown order is remembered like an order';
const WAYS_OUT = 'nothing was cancelled. Use cancel-all to cancel all open orders';

/** Refuses cancellations of hashes that nobody has placed, if the budget of orders does not hold that many. */
export function refuseUnplaced(budget: Budget, left: number, count: number) {
  if (count > budget.burst) return refuseAsRemembered(`the maker's budget holds ${budget.burst} when full`);
  const why = `the maker's budget of ${budget.ratePerSecond} orders per second is spent`;
  const retryAfterMs = retryAfterMsOf(left, budget);
  return { code: 'rate_limited', detail: `${AS_REMEMBERED}, and ${why}: ${WAYS_OUT}`, retryAfterMs } as const;
}

/** Like `refuseUnplaced`, if too many are remembered. */
export function refuseAsRemembered(why: string) {
  return { code: 'too_many_orders', detail: `${AS_REMEMBERED}, and ${why}: ${WAYS_OUT}` } as const;
}

/** Charges a cancellation of all orders, and marks the open ones. */
export function decideCancelAll(standing: Standing, request: CancelAll, nowMs: number): Verdict {
  const { maker, partition, mark, scope, lastsMs, budget } = request;
  const own = { maker, partition, orderHash: mark, budget };
  const charged = chargeCancels(standing, [own], nowMs, CANCEL_ALL_COST);
  if (charged.refusal !== undefined) {
    const { index: _, ...refusal } = charged.refusal;
    return { ...charged, refusal };
  }
  const { untilMs, making, taking } = scope;
  const isMeant = (order: { readonly making: Address; readonly taking: Address; readonly acceptedAtMs: number }) =>
    order.acceptedAtMs <= untilMs &&
    (making === undefined || order.making === making) &&
    (taking === undefined || order.taking === taking);
  const isLeft = ({ orderHash }: { readonly orderHash: Hex }) => hashOf(standing, orderHash).isCancelling !== true;
  const marked = makerOf(standing, maker).listed.filter((order) => isMeant(order) && isLeft(order));
  const hashes = [own, ...marked.map(({ orderHash }) => ({ ...own, orderHash }))];
  return { ...charged, decisions: [...charged.decisions, ...hashes.map((hash) => markOf(hash, nowMs + lastsMs))] };
}

/**
 * Decides about a replacement. Each order to cancel must be open with the expected amount left, and no other request
 * may be cancelling it. The new orders are judged as if the old ones were cancelled.
 */
export function decideReplacement(standing: Standing, request: Replacement, nowMs: number): Verdict {
  const { cancels, placement } = request;
  const charged = chargeCancels(standing, cancels, nowMs);
  if (charged.refusal !== undefined) {
    const { index = 0, ...refusal } = charged.refusal;
    return { ...charged, refusal: { ...refusal, ...('ofAll' in request.expected ? {} : { index }), list: 'cancel' } };
  }
  const isOpen = ({ orderHash }: CancelledHash) => {
    const { order, inFlight, remembered, isCancelling } = hashOf(standing, orderHash);
    return !isCancelling && (order !== undefined || (inFlight !== undefined && remembered !== 'CANCELLED'));
  };
  if (!cancels.every(isOpen)) {
    const detail = 'nothing was stored: another request cancels one of the orders; send this one again';
    return refused(unavailable(detail, IN_FLIGHT_RETRY_MS));
  }
  const changed = findChanged(standing, request);
  if (changed?.code === 'unavailable') return refused(changed);
  if (changed !== undefined) return { decisions: charged.decisions, refusal: changed, ofClient: 0 };
  const marks = cancels.map((hash) => ({
    ...markOf(hash, nowMs + placement.lastsMs),
    onlyWith: hashOf(standing, hash.orderHash).order?.remaining ?? ('in flight' as const),
  }));
  const placed = decidePlacement(applyDecisions(draftOf(standing), marks, nowMs), placement, nowMs);
  if (placed.refusal?.code === 'unavailable') return placed;
  const written = placed.refusal === undefined ? [...charged.decisions, ...marks] : charged.decisions;
  return { ...placed, decisions: [...written, ...placed.decisions] };
}

/** Finds an order whose remaining amount is not the expected one, or judges the sum for all. */
function findChanged(standing: Standing, { cancels, expected }: Replacement): Refusal | undefined {
  if ('ofAll' in expected) {
    const orders = cancels.flatMap(({ orderHash }) => hashOf(standing, orderHash).order ?? []);
    const sumOf = (which: 'making' | 'remaining') => orders.reduce((sum, order) => sum + order[which], 0n);
    if (expected.ofAll !== undefined && orders.length < cancels.length) {
      const detail = 'nothing was stored: one of the orders is still on its way; send this request again';
      return unavailable(detail, IN_FLIGHT_RETRY_MS);
    }
    const left = sumOf('remaining');
    return left === (expected.ofAll ?? sumOf('making'))
      ? undefined
      : refuseChanged('all of them', left, expected.ofAll);
  }
  for (const [index, { orderHash, remaining }] of expected.entries()) {
    const { order } = hashOf(standing, orderHash);
    if (order === undefined || order.remaining === (remaining ?? order.making)) continue;
    return { ...refuseChanged(orderHash, order.remaining, remaining), index };
  }
  return undefined;
}

function refuseChanged(of: string, left: bigint, expected: bigint | undefined): Refusal {
  const remainingMakingAmount = quantity(left);
  const named = expected === undefined ? 'the request does not name it' : `not ${quantity(expected)}`;
  const detail = `${remainingMakingAmount} is left of the making amount of ${of}, and ${named}: nothing was cancelled or placed`;
  return {
    code: 'remaining_changed',
    detail,
    remainingMakingAmount,
    pointer: '/remainingMakingAmount',
    list: 'cancel',
  };
}
