import { type Address, quantity } from '@makerbook/contracts-primitives';
import { checkRepeats, checkTimeliness, type ProvenOrder } from './check-orders.js';
import { boundedSeconds } from './order.js';
import type { Budget } from './standing.js';
import {
  type Decision,
  type HashStanding,
  hashOf,
  heldOf,
  isSpent,
  type MakerStanding,
  makerOf,
  retryAfterMsOf,
  type Standing,
  spend,
} from './standing.js';
import type { Refusal } from './verdict.js';
import { refused, unavailable, type Verdict } from './verdict.js';

/** A maker of a request, with the limits that apply to the maker. */
export interface PlacingMaker {
  readonly maker: Address;
  readonly partition: number;
  readonly budget: Budget;
  readonly openOrdersMax: number;
  /** The nonce from the feed of makers, which may be ahead of the rows. */
  readonly nonce: bigint | undefined;
}

/** A request to place orders, all or none. Times are milliseconds since 1970, by the clock of the standing. */
export interface Placement {
  readonly kind: 'placement';
  readonly receivedAtMs: number;
  /** The append that follows has ended by this long after the decision. */
  readonly lastsMs: number;
  readonly validUntilMs: number | undefined;
  /** Sorted by address. */
  readonly makers: readonly PlacingMaker[];
  readonly orders: readonly Pick<ProvenOrder, 'order' | 'orderHash'>[];
  /** How many hashes of a maker may be remembered. */
  readonly rememberedMax: number;
}

/** Retry after this if another request with the same hash is in flight: an append ends within seconds. */
export const IN_FLIGHT_RETRY_MS = 2_000;
/** An older request is not placed: a note that its hash is unknown may be forgotten by then. */
export const REQUEST_AGE_MS_MAX = 25_000;
/** How long a note that a hash is unknown is kept: longer than any request received before the note may take. */
export const NOTE_MS = REQUEST_AGE_MS_MAX + 5_000;

const ACCEPTED_BEFORE = 'the order was accepted before: a hash is accepted only once';

/**
 * Decides about a request to place orders. Each check goes over all orders, lowest index first, before the next check:
 * rate, timeliness, duplicates, notes, the nonce by the rows, open and remembered orders. Anybody can repeat an order
 * that is untimely or whose hash is known, so the sender's address pays for those. Makers pay for the others.
 * `unavailable`, `rate_limited` and orders beyond what a budget holds charge no maker.
 */
export function decidePlacement(standing: Standing, request: Placement, nowMs: number): Verdict {
  const { orders, receivedAtMs, validUntilMs } = request;
  if (validUntilMs !== undefined && nowMs > validUntilMs) {
    return refused(refuseLate(orders.map(({ orderHash }) => isAccepted(hashOf(standing, orderHash)))));
  }
  if (nowMs - receivedAtMs > REQUEST_AGE_MS_MAX)
    return refused(unavailable('nothing was stored: the request took too long'));
  const nonces = new Map(request.makers.map(({ maker, nonce }) => [maker, nonce]));
  const check = (some: Placement['orders']) =>
    checkTimeliness(
      some.map(({ order }) => order),
      Math.floor(nowMs / 1000),
      (maker) => nonces.get(maker),
    );
  const untimely = check(orders);
  const timely = untimely === undefined ? orders : orders.filter((one) => check([one]) === undefined);
  const late = orders.length - timely.length;
  if (untimely !== undefined && timely.length === 0) return { ...refused(untimely), ofClient: late };
  const known = timely.filter(({ orderHash }) => isKnown(hashOf(standing, orderHash)));
  const makers = request.makers.filter(({ maker }) => timely.some(({ order }) => order.maker === maker));
  const charged = chargeOrders(standing, { ...request, makers }, timely, nowMs);
  const budgets = { of: 'orders', makers } as const;
  if (charged.refusal !== undefined) {
    const { at, ...refusal } = charged.refusal;
    const left = { ...budgets, remaining: charged.before };
    return { ...refused({ ...refusal, index: orders.indexOf(at) }), left, ofClient: late };
  }
  const left = { ...budgets, remaining: charged.after };
  const charging = { decisions: charged.decisions, left, ofClient: late + known.length };
  if (untimely !== undefined) return { ...charging, refusal: untimely };
  if (standing.trustedSinceMs === undefined || standing.trustedSinceMs >= receivedAtMs) {
    const detail = 'nothing was stored: the store of orders has lost rows, and reads them from the log again';
    return refused({ ...unavailable(detail), index: 0, cause: 'untrusted' });
  }
  if (makers.some(({ maker }) => makerOf(standing, maker).isQuarantined)) {
    const detail = 'nothing was stored: the maker is in quarantine until an operator releases it';
    return refused({ ...unavailable(detail), index: 0 });
  }
  const { refusal, isFree } = refuseHashes(standing, request) ?? {};
  if (refusal?.code === 'unavailable') return refused(refusal);
  if (refusal !== undefined && isFree) {
    return { ...refused(refusal), left: { ...budgets, remaining: charged.before } };
  }
  const refusing = refusal ?? refuseBeyond(standing, request);
  if (refusing !== undefined) return { ...charging, refusal: refusing };
  return { ...charging, decisions: [...charged.decisions, ...placeAll(request, nowMs)] };
}

function placeAll({ makers, orders, lastsMs }: Placement, nowMs: number): Decision[] {
  const partitions = new Map(makers.map(({ maker, partition }) => [maker, partition]));
  return orders.map(({ order, orderHash }) => ({
    kind: 'place',
    maker: order.maker,
    partition: partitions.get(order.maker) ?? 0,
    orderHash,
    salt: quantity(order.salt),
    expiresAtSeconds: boundedSeconds(order.expiresAt),
    untilMs: nowMs + lastsMs,
  }));
}

/** True if anybody can send the order again, also while its first request is in flight. */
function isKnown({ remembered, inFlight }: HashStanding): boolean {
  return remembered !== undefined || inFlight !== undefined;
}

function isAccepted({ remembered }: HashStanding): boolean {
  return remembered === 'ACCEPTED' || remembered === 'UNFOLDED';
}

/**
 * Refuses orders whose `Valid-Until` has passed, or the first that was accepted before.
 * @param accepted whether each order was accepted
 */
export function refuseLate(accepted: readonly boolean[]): Refusal {
  const detail =
    'this request stored nothing: by the clock of the service the time that Valid-Until names has passed. ' +
    'GET …/{orderHash} tells whether an earlier one did';
  return refuseAccepted(accepted) ?? { code: 'valid_until_passed', detail };
}

/** Refuses the first order that was accepted before. */
export function refuseAccepted(accepted: readonly boolean[]): Refusal | undefined {
  const index = accepted.indexOf(true);
  return index < 0 ? undefined : { code: 'duplicate', detail: ACCEPTED_BEFORE, index };
}

interface Charged {
  readonly decisions: readonly Decision[];
  /** The whole orders that each maker's budget holds: `before` without the charge, `after` with it. */
  readonly before: readonly number[];
  readonly after: readonly number[];
  readonly refusal?: Refusal & { readonly at: Placement['orders'][number] };
}

/**
 * Charges makers for orders of unknown hashes. Refuses the first order that a budget does not hold. The refusal tells
 * when all budgets will hold the whole request.
 */
function chargeOrders(
  standing: Standing,
  { makers, orders: all }: Placement,
  orders: Placement['orders'],
  nowMs: number,
): Charged {
  const decisions: Decision[] = [];
  const before: number[] = [];
  const after: number[] = [];
  let refusal: Charged['refusal'];
  let retryAfterMs = 0;
  for (const { maker, budget } of makers) {
    const own = orders.filter(({ order, orderHash }) => {
      return order.maker === maker && !isKnown(hashOf(standing, orderHash));
    });
    const { left, atMs } = spend(makerOf(standing, maker).orders, budget, own.length, nowMs);
    before.push(Math.floor(left + own.length));
    after.push(Math.floor(Math.max(0, left)));
    if (own.length > 0) decisions.push({ kind: 'charge', maker, of: 'orders', tokens: { left, atMs } });
    if (!isSpent(left)) continue;
    const isTooLarge = own.length > budget.burst;
    const at = own[isTooLarge ? Math.floor(budget.burst) : heldOf(own.length, left)];
    retryAfterMs = Math.max(retryAfterMs, retryAfterMsOf(left, budget));
    if (at === undefined || (refusal !== undefined && all.indexOf(refusal.at) < all.indexOf(at))) continue;
    refusal = { ...refuseBudget(budget, isTooLarge), at };
  }
  if (refusal?.code === 'rate_limited') refusal = { ...refusal, retryAfterMs };
  return { decisions, before, after, ...(refusal && { refusal }) };
}

function refuseBudget(budget: Budget, isTooLarge: boolean): Refusal {
  if (isTooLarge) {
    const detail = `the maker's budget holds ${budget.burst} orders when full: place fewer at once`;
    return { code: 'too_many_orders', detail };
  }
  const detail = `the maker's budget of ${budget.ratePerSecond} orders per second is spent; Retry-After says when all of the request fits`;
  return { code: 'rate_limited', detail };
}

/** @returns `isFree` if anybody can repeat the refused order, so its maker is not charged */
function refuseHashes(
  standing: Standing,
  { orders, receivedAtMs }: Placement,
): { readonly refusal: Refusal; readonly isFree?: boolean } | undefined {
  const hashes = orders.map(({ orderHash }) => hashOf(standing, orderHash));
  const repeat = checkRepeats(orders.map(({ orderHash }) => orderHash));
  const known = hashes.findIndex(({ remembered }) => remembered !== undefined);
  const duplicate = first(known, repeat?.index ?? -1);
  const flying = hashes.findIndex(({ inFlight, isCancelling }) => inFlight !== undefined || isCancelling === true);
  if (flying >= 0 && (duplicate < 0 || flying < duplicate)) {
    const detail = `order ${flying} is being placed or cancelled by another request: send it again`;
    const refusal = { ...unavailable(detail, IN_FLIGHT_RETRY_MS), index: flying, cause: 'in_flight' } as const;
    return { refusal };
  }
  if (repeat !== undefined && repeat.index === duplicate) return { refusal: repeat };
  if (duplicate >= 0) return { refusal: { code: 'duplicate', detail: ACCEPTED_BEFORE, index: duplicate } };
  const told = hashes.findIndex(({ notedUntilMs = -1 }) => notedUntilMs >= receivedAtMs);
  if (told >= 0) {
    const detail = 'the order was cancelled while this request was on its way: post it again to place it';
    return { refusal: { code: 'order_cancelled', detail, index: told } };
  }
  const passed = orders.findIndex(({ order }) => order.nonce < makerOf(standing, order.maker).nonce);
  if (passed < 0) return undefined;
  const detail = "the order is cancelled: the maker's nonce is above its nonce";
  const refusal = { code: 'order_cancelled', index: passed, pointer: '/order/nonce', detail } as const;
  return { refusal, isFree: true };
}

function first(one: number, other: number): number {
  return one < 0 || other < 0 ? Math.max(one, other) : Math.min(one, other);
}

function refuseBeyond(standing: Standing, { makers, orders, rememberedMax }: Placement): Refusal | undefined {
  let refusal: (Refusal & { readonly index: number }) | undefined;
  for (const { maker, openOrdersMax } of makers) {
    const own = [...orders.entries()].filter(([, { order }]) => order.maker === maker);
    const rows = makerOf(standing, maker);
    const open = countOpen(rows, own.length, openOrdersMax);
    const all = rows.remembered + rows.onTheirWay;
    const beyond =
      open + own.length > openOrdersMax
        ? { held: openOrdersMax - open, ...refuseOpen(openOrdersMax, open) }
        : all + own.length > rememberedMax
          ? { held: rememberedMax - all, ...refuseRemembered(rememberedMax, all) }
          : undefined;
    if (beyond === undefined) continue;
    const { held, ...refusing } = beyond;
    const index = own[Math.max(0, held)]?.[0] ?? 0;
    if (refusal === undefined || index < refusal.index) refusal = { ...refusing, index };
  }
  return refusal;
}

/** Counts open orders. Those expired by this clock, though not yet by the clock of the rows, take no room. */
function countOpen(
  { open, inFlight, expired }: Pick<MakerStanding, 'open' | 'inFlight' | 'expired'>,
  count: number,
  openOrdersMax: number,
): number {
  return open + inFlight + count > openOrdersMax ? open + inFlight - expired : open + inFlight;
}

function refuseOpen(openOrdersMax: number, open: number): Refusal {
  const detail = `the maker may have ${openOrdersMax} open orders, and has ${open}: cancel some first`;
  return { code: 'too_many_orders', detail };
}

function refuseRemembered(rememberedMax: number, remembered: number): Refusal {
  const detail =
    `${remembered} order hashes of the maker are remembered, and the limit is ${rememberedMax}: use shorter ` +
    'expiries, or raise the nonce with cancelAllOrders, after which older orders need not be remembered';
  return { code: 'too_many_orders', detail };
}
