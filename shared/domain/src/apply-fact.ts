import type {
  BookCause,
  FillCapSet,
  MakerFact,
  MakerObserved,
  ObservedOrder,
  OrderCancelled,
  OrderSubmitted,
  OrdersCancelled,
} from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { addCutoff, setCancelKeys, setSwitch } from './exits.js';
import { cappedUntil, countFill, setFillCap } from './fill-caps.js';
import { isRoutable } from './judge.js';
import type { LogClock } from './log-clock.js';
import type { KnownFunds } from './maker.js';
import type { OpenOrder } from './open-order.js';
import { expirySeconds, isForgotten } from './open-order.js';
import { orderFromBody } from './order.js';
import type { RememberedHash } from './remember-hashes.js';
import type { WritableMaker } from './writable-maker.js';

/** Applies a fact to its maker. `MakerDraft.apply` calls it, and undoes every write if it throws. */
export function applyFact(draft: WritableMaker, fact: MakerFact, clock: LogClock, offset: bigint): void {
  switch (fact.type) {
    case 'OrderSubmitted':
      return open(draft, fact, clock, offset);
    case 'OrderCancelled':
      return cancel(draft, fact, clock);
    case 'OrdersCancelled':
      return cancelAll(draft, fact, clock);
    case 'SwitchSet':
      return draft.setExits(setSwitch(draft.exits, fact, clock));
    case 'CancelKeysSet':
      return draft.setExits(setCancelKeys(draft.exits, fact));
    case 'FillCapSet':
      return capFills(draft, fact, clock);
    case 'MakerObserved':
      return observe(draft, fact, clock);
    case 'MakerAdmitted':
      return draft.setAdmission('ADMITTED', clock);
    case 'MakerSuspended':
      return draft.setAdmission('SUSPENDED', clock);
    case 'MakerRemoved':
      return draft.setAdmission('REMOVED', clock);
    case 'MakerLimitsSet':
      return draft.setLimits(fact.limits);
    default:
      return never(fact);
  }
}

function open(draft: WritableMaker, fact: OrderSubmitted, clock: LogClock, offset: bigint): void {
  const { orderHash } = fact;
  const order = orderFromBody(fact.order);
  // Ingress refuses such orders, so one in the log is a bug.
  if (order.making.amount === 0n) throw new Error('the order makes an amount of zero');
  if (order.expiresAt === 0n) throw new Error('the order expires at 0');
  if (isForgotten(expirySeconds({ order }), clock) || draft.orders.has(orderHash)) return;
  const isPassed = draft.hasPassed(order.nonce);
  const known = recall(draft, orderHash, clock);
  if (known === 'ACCEPTED') return;
  const isCancelled = known === 'CANCELLED' || draft.isCutOff({ order, acceptedAtMs: fact.acceptedAtMs }, clock);
  const isExpired = clock.seconds >= expirySeconds({ order });
  const isGone = isPassed || isCancelled || isExpired;
  const opened: OpenOrder = {
    order,
    cappedUntil: cappedUntil(draft.exits.caps, order.making.token, clock),
    orderHash,
    signature: fact.signature,
    byWallet: fact.byWallet ?? false,
    acceptedAtMs: fact.acceptedAtMs,
    acceptedOffset: offset,
    remaining: order.making.amount,
    isObserved: false,
    state: { status: 'VALIDATING' },
    inBook: false,
  };
  draft.add(opened, !isGone && !isRoutable(opened, draft.admission, clock, draft.rules));
  if (isPassed) draft.remove(opened, 'NONCE_CHANGED');
  else if (isCancelled) draft.remove(opened, 'CANCELLED');
  else if (isExpired) draft.remove(opened, 'EXPIRED');
}

/** A cancellation counts wherever the order is. If it comes before its order, remember it so the order never opens. */
function cancel(draft: WritableMaker, { orderHash, expiresAtSeconds }: OrderCancelled, clock: LogClock): void {
  const order = draft.orders.get(orderHash);
  if (order !== undefined) return draft.remove(order, 'CANCELLED');
  if (recall(draft, orderHash, clock) !== undefined || isForgotten(expiresAtSeconds, clock)) return;
  draft.note({ kind: 'HashCancelled', maker: draft.maker, orderHash, expiresAtSeconds });
}

/** Cancels all orders of the tokens that were accepted by then, also those that come later in the log. */
function cancelAll(draft: WritableMaker, fact: OrdersCancelled, clock: LogClock): void {
  draft.setExits(addCutoff(draft.exits, fact, clock));
  for (const order of [...draft.orders.values()]) if (draft.isCutOff(order, clock)) draft.remove(order, 'CANCELLED');
}

/** Replaces a cap. Orders that the old cap withheld come back. */
function capFills(draft: WritableMaker, fact: FillCapSet, clock: LogClock): void {
  draft.setExits({ ...draft.exits, caps: setFillCap(draft.exits.caps, fact, clock) });
  for (const order of [...draft.orders.values()]) draft.recap(order, clock);
}

/**
 * Returns what is remembered of a hash of the maker. A hash that may be forgotten counts as forgotten, because the fold
 * must not depend on when hashes are pruned.
 */
function recall(draft: WritableMaker, orderHash: Hex, clock: LogClock): RememberedHash['state'] | undefined {
  const hash = draft.rules.recallHash({ orderHash, maker: draft.maker });
  if (hash === undefined || isForgotten(hash.expiresAtSeconds, clock)) return undefined;
  const isPassed = hash.nonce !== undefined && draft.hasPassed(hash.nonce);
  return isPassed && clock.seconds >= hash.keptUntilSeconds ? undefined : hash.state;
}

/**
 * Judges a reading of the maker at one block as a whole. Fills and the orders' own state come first, then the nonce,
 * then the funds. A reading older than the last processed block does not count, because later changes are earlier in
 * the log.
 */
function observe(draft: WritableMaker, fact: MakerObserved, clock: LogClock): void {
  if (fact.block.number < clock.block) return;
  const seen = new Map(fact.orders.map((order) => [order.orderHash, order]));
  const isCapNews = countFills(draft, fact, clock);
  for (const one of fact.orders) removeDone(draft, one);
  const isNonceNews = observeNonce(draft, fact, seen);
  const changedFunds = observeFunds(draft, fact);
  const funded = new Set(fact.funds.map(({ token }) => token));
  // If funds, nonce and caps are unchanged, judge only the named orders. A reading of one order must not cost a pass
  // over all of them.
  const isForAll = isNonceNews || isCapNews || changedFunds.size > 0 || fact.signaturesUnread;
  for (const order of isForAll ? draft.orders.values() : openOrders(draft, seen.keys())) {
    const own = seen.get(order.orderHash);
    const waitsFor = waitsForAfter(order, own, fact);
    if (own === undefined && !isCapNews && waitsFor === order.waitsFor && draft.isJudged(order)) continue;
    const funds = changedFunds.get(order.order.making.token) ?? [];
    const isRead = own !== undefined && fact.nonce !== undefined && funded.has(order.order.making.token);
    const isObserved = order.isObserved || isRead;
    const read = { ...order, isObserved, waitsFor, remaining: remainingOf(order, own) };
    const next = isCapNews ? draft.withCap(read, clock) : read;
    const causes: BookCause[] = [
      ...(isObserved === order.isObserved && waitsFor === order.waitsFor ? [] : ['OBSERVED' as const]),
      ...(next.remaining === order.remaining ? [] : ['FILLED' as const]),
      ...funds,
      ...(isNonceNews ? ['NONCE_CHANGED' as const] : []),
      ...(next.cappedUntil === order.cappedUntil ? [] : ['CAP_CHANGED' as const]),
    ];
    draft.change(next, causes, clock);
  }
  if (fact.nonce !== undefined && fact.block.timestamp >= draft.dueAtSeconds) removeAhead(draft, fact.block.timestamp);
  for (const [token, causes] of changedFunds) draft.tellFunds(token, causes);
}

/**
 * Counts every fill against the maker's caps, whatever state its order is in. The caps limit losses, and a taker may
 * hold the order long after it has ended here.
 * @returns whether a fill was counted
 */
function countFills(draft: WritableMaker, { fills = [], block }: MakerObserved, clock: LogClock): boolean {
  const before = draft.exits.caps;
  for (const fill of before.length > 0 ? fills : []) {
    const { orderHash, makingToken, makingAmount, timestamp: seconds = block.timestamp, blockNumber, logIndex } = fill;
    const token = draft.orders.get(orderHash)?.order.making.token ?? makingToken;
    if (token === undefined) continue;
    const counted = { token, amount: BigInt(makingAmount), seconds, blockNumber, logIndex };
    draft.setExits({ ...draft.exits, caps: countFill(draft.exits.caps, counted, clock) });
  }
  return draft.exits.caps !== before;
}

/** The open orders with these hashes, oldest acceptance first. */
function openOrders(draft: WritableMaker, hashes: Iterable<Hex>): OpenOrder[] {
  const open = [...hashes].flatMap((orderHash) => draft.orders.get(orderHash) ?? []);
  return open.sort((a, b) => (a.acceptedOffset < b.acceptedOffset ? -1 : 1));
}

function removeDone(draft: WritableMaker, own: ObservedOrder): void {
  const order = draft.orders.get(own.orderHash);
  if (order === undefined) return;
  const read = { ...order, remaining: remainingOf(order, own) };
  if (own.cancelled) draft.remove(read, 'CANCELLED_ONCHAIN');
  else if (read.remaining === 0n) draft.remove(read, 'FILLED');
}

/** A fill is never undone, so a reading may lower the remaining amount but not raise it. */
function remainingOf(order: OpenOrder, own: ObservedOrder | undefined): bigint {
  if (own === undefined) return order.remaining;
  const left = order.order.making.amount - BigInt(own.filled);
  return left >= order.remaining ? order.remaining : left < 0n ? 0n : left;
}

/** Tells what the order waits for after the reading. */
function waitsForAfter(order: OpenOrder, own: ObservedOrder | undefined, fact: MakerObserved): OpenOrder['waitsFor'] {
  if (own?.refused) return own.noCode ? 'TAKING_TOKEN' : 'SIGNATURE';
  if (own !== undefined) return undefined;
  return fact.signaturesUnread && order.byWallet && order.isObserved ? 'SIGNATURE' : order.waitsFor;
}

/**
 * Sets a higher nonce and removes the orders below it.
 * @returns whether the nonce has changed
 */
function observeNonce(
  draft: WritableMaker,
  { nonce, block }: MakerObserved,
  seen: ReadonlyMap<Hex, ObservedOrder>,
): boolean {
  if (nonce === undefined) return false;
  const value = BigInt(nonce);
  if (draft.nonce !== undefined && value <= draft.nonce.value) return false;
  draft.setNonce({ value, block: block.number });
  for (const order of [...draft.orders.values()]) {
    if (order.order.nonce >= value) continue;
    draft.remove({ ...order, remaining: remainingOf(order, seen.get(order.orderHash)) }, 'NONCE_CHANGED');
  }
  return true;
}

/** Removes orders whose nonce is above the chain's, once a block is as new as their acceptance. */
function removeAhead(draft: WritableMaker, timestamp: number): void {
  for (const order of draft.orders.values()) {
    if (draft.isAhead(order) && timestamp * 1000 >= order.acceptedAtMs) draft.remove(order, 'NONCE_CHANGED');
  }
}

/** @returns what changed, keyed by token */
function observeFunds(
  draft: WritableMaker,
  { funds, block }: MakerObserved,
): ReadonlyMap<Address, readonly BookCause[]> {
  const changed = new Map<Hex, BookCause[]>();
  for (const one of funds) {
    const before = draft.funding.get(one.token)?.known;
    if (before !== undefined && before.block > block.number) continue;
    const after: KnownFunds | undefined = one.unread
      ? undefined
      : { balance: BigInt(one.balance), allowance: BigInt(one.allowance), block: block.number };
    draft.setFunds(one.token, after);
    const causes: BookCause[] = [];
    if (before?.allowance !== after?.allowance) causes.push('ALLOWANCE_CHANGED');
    if (before?.balance !== after?.balance) causes.push('BALANCE_CHANGED');
    if (causes.length > 0) changed.set(one.token, causes);
  }
  return changed;
}

function never(fact: never): never {
  throw new Error(`a fact that the fold does not know: ${JSON.stringify(fact)}`);
}
