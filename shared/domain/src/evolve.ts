import type { BlockProcessed, Hex, MakerEvent, OrderCancelled, OrderSubmitted } from '@makerbook/contracts-events';
import { judge } from './judge.js';
import type { Admission, Funding, Maker, Observed, OpenOrder, RemovalReason } from './maker.js';
import { type Address, boundedSeconds, orderFromBody } from './order.js';
import { type HashMemory, type HashRules, rememberHashes } from './remember-hashes.js';

/** What a fact did to a maker. A fact that changes nothing leads to none. */
export type Change =
  /** The order is open now, and VALIDATING: the chain was not asked about it yet. */
  | { readonly kind: 'OrderOpened'; readonly order: OpenOrder; readonly funding: Funding }
  /** Status, reason or remaining amount changed. */
  | { readonly kind: 'OrderChanged'; readonly order: OpenOrder; readonly funding: Funding }
  /** The order was seen on the chain, or is to be seen anew, and for other reasons its status is what it was. */
  | { readonly kind: 'OrderObserved'; readonly order: OpenOrder }
  /** Too close to its expiry for the router; the maker's list keeps it (Interface 2.4, routing grace period). */
  | { readonly kind: 'OrderWithheld'; readonly order: OpenOrder }
  /** Gone from storage, with the state it had last. */
  | { readonly kind: 'OrderRemoved'; readonly order: OpenOrder; readonly reason: RemovalReason }
  /** The maker cancelled a hash that was never accepted. Should its order still come, it is removed at once. */
  | { readonly kind: 'HashCancelled'; readonly orderHash: Hex; readonly expiresAtSeconds: number }
  /** Admission or nonce changed. */
  | { readonly kind: 'MakerChanged'; readonly admission: Admission; readonly nonce: Observed | undefined };

/** A change and the offset of the fact that led to it. */
export type Transition = Change & { readonly offset: bigint };

/** A fact with its place in the log. */
export interface Placed<F> {
  readonly fact: F;
  readonly offset: bigint;
  /** Timestamp in seconds of the newest block whose `BlockProcessed` stands before it in the partition; 0 if none. */
  readonly clockSeconds: number;
  /** Number of the newest block whose `BlockProcessed` stands before it in the partition; -1 if none. */
  readonly processedBlock: number;
}

/** What the fold must be told beside the facts. What they do to a hash themselves it knows. */
export interface Rules extends HashRules {
  /** The router's feed drops an order this long before it expires. */
  readonly routingGraceSeconds: number;
}

/** The maker after some facts, and what they did, in the order in which it happened. */
export interface Evolved {
  readonly maker: Maker;
  readonly transitions: readonly Transition[];
}

/**
 * The fold of one maker: the state after some facts of its partition, in their order, blocks among them. Pure: the same
 * state and facts give the same result, and it makes no difference in how many calls they are handed over.
 * After a block, orders expire, leave the router's feed, or turn out to carry a nonce that the chain does not hold;
 * nothing of that happens before `maker.dueAtSeconds`, so a caller may leave earlier blocks out, but for those that carry a
 * `knownOffset`: the first of its number is about open orders that were accepted there or later, and seen before it.
 */
export function evolve(maker: Maker, facts: readonly Placed<MakerEvent>[], rules: Rules): Evolved {
  const draft = new Draft(maker, rules);
  for (const placed of facts) {
    draft.offset = placed.offset;
    draft.processedBlock = placed.processedBlock;
    apply(draft, placed);
  }
  return draft.finish();
}

/** Has the orders that stand out of the router's feed read anew, where blocks were left out that may have missed them. */
export function forgetUnrouted(maker: Maker, offset: bigint, rules: Rules): Evolved {
  const draft = new Draft(maker, rules);
  draft.offset = offset;
  for (const order of [...draft.orders.values()]) {
    if (!order.inBook && order.observedBlock !== undefined) draft.observe({ ...order, observedBlock: undefined });
  }
  return draft.finish();
}

/** The second from which the router may no longer use the order: `expiresAt` less the grace period. Never below 0. */
export function routableUntilSeconds(
  order: Pick<OpenOrder, 'order'>,
  rules: Pick<Rules, 'routingGraceSeconds'>,
): number {
  return Math.max(0, expirySeconds(order) - rules.routingGraceSeconds);
}

/** The second from which the order is expired. */
export function expirySeconds({ order }: Pick<OpenOrder, 'order'>): number {
  return boundedSeconds(order.expiresAt);
}

function apply(draft: Draft, { fact, clockSeconds }: Placed<MakerEvent>): void {
  switch (fact.type) {
    case 'BlockProcessed':
      advanceClock(draft, Math.max(clockSeconds, fact.block.timestamp), fact);
      return missOrders(draft, fact);
    case 'OrderSubmitted':
      return open(draft, fact, clockSeconds);
    case 'OrderCancelled':
      return cancel(draft, fact);
    case 'OrderCancelledOnChain':
      return draft.removeByHash(fact.orderHash, 'CANCELLED_ONCHAIN');
    case 'OrderFilled':
    case 'NonceChanged':
    case 'BalanceChanged':
    case 'AllowanceChanged':
      observe(draft, fact);
      if (fact.hasMore === undefined) draft.rejudgeAll();
      return;
    case 'MakerAdmitted':
      return draft.admit('ADMITTED');
    case 'MakerSuspended':
      return draft.admit('SUSPENDED');
    case 'MakerRemoved':
      return draft.admit('REMOVED');
    default:
      return never(fact);
  }
}

function open(draft: Draft, fact: OrderSubmitted, clockSeconds: number): void {
  if (draft.orders.has(fact.orderHash) || draft.hashes.wasRemoved(fact.orderHash)) return;
  const order = orderFromBody(fact.order);
  const isCancelled = draft.hashes.wasCancelled(fact.orderHash);
  const opened: OpenOrder = {
    orderHash: fact.orderHash,
    order,
    signature: fact.signature,
    acceptedAtMs: fact.acceptedAtMs,
    acceptedOffset: draft.offset,
    remaining: order.making.amount,
    observedBlock: undefined,
    state: { status: 'VALIDATING' },
    inBook: !isCancelled && clockSeconds < routableUntilSeconds({ order }, draft.rules),
  };
  draft.add(opened);
  if (isCancelled) draft.removeByHash(fact.orderHash, 'CANCELLED');
  else if (clockSeconds >= expirySeconds(opened)) draft.removeByHash(fact.orderHash, 'EXPIRED');
  else if (draft.nonce !== undefined && order.nonce < draft.nonce.value)
    draft.removeByHash(fact.orderHash, 'NONCE_CHANGED');
}

/** A cancellation counts wherever it stands: before its order it is remembered, so that the order is never open. */
function cancel(draft: Draft, { orderHash, expiresAtSeconds }: OrderCancelled): void {
  if (draft.orders.has(orderHash)) return draft.removeByHash(orderHash, 'CANCELLED');
  const { wasRemoved, wasCancelled } = draft.hashes;
  if (!wasRemoved(orderHash) && !wasCancelled(orderHash)) draft.cancelHash(orderHash, expiresAtSeconds);
}

function advanceClock(draft: Draft, nowSeconds: number, processed: BlockProcessed): void {
  if (nowSeconds < draft.dueAtSeconds) return;
  const isNonceMissed = missNonce(draft, nowSeconds, processed);
  let dueAtSeconds = Number.POSITIVE_INFINITY;
  for (const order of [...draft.orders.values()]) {
    if (nowSeconds >= expirySeconds(order)) {
      draft.remove(order, 'EXPIRED');
    } else if (isAheadOfNonce(draft, order) && isDueAsAhead(order, nowSeconds)) {
      draft.remove(order, 'NONCE_CHANGED');
    } else {
      const withheld = order.inBook && nowSeconds >= routableUntilSeconds(order, draft.rules);
      dueAtSeconds = Math.min(dueAtSeconds, dueAt(draft, withheld ? draft.withhold(order) : order));
    }
  }
  draft.dueAtSeconds = dueAtSeconds;
  if (isNonceMissed) draft.rejudgeAll();
}

/**
 * A maker's nonce is kept by whoever has seen one of its orders on the chain, and knew that order ever since. Where no such
 * order is left, one that is ahead of what was read before may not be ahead of the chain: it is not removed, which would be
 * for good, and the nonce waits to be read anew.
 */
function missNonce(draft: Draft, nowSeconds: number, processed: BlockProcessed): boolean {
  if (processed.knownOffset === undefined) return false;
  const orders = [...draft.orders.values()];
  const isDue = orders.some((order) => isAheadOfNonce(draft, order) && isDueAsAhead(order, nowSeconds));
  if (!isDue || orders.some((order) => order.observedBlock !== undefined && isKnown(order, processed))) return false;
  draft.nonceIsWatched = false;
  return true;
}

/** Whether what the block did to the order is in the log: its watcher knew the order, or another one read it since. */
function isKnown({ acceptedOffset, observedBlock }: OpenOrder, { block, knownOffset }: BlockProcessed): boolean {
  if (knownOffset === undefined || acceptedOffset < BigInt(knownOffset)) return true;
  return observedBlock !== undefined && observedBlock >= block.number;
}

/**
 * The first `BlockProcessed` of a block says which orders its watcher did not know yet when it matched the block. What the
 * block did to those is not in the log: where another watcher read them before it, they wait for a newer reading.
 */
function missOrders(draft: Draft, processed: BlockProcessed): void {
  const { block, knownOffset } = processed;
  if (knownOffset === undefined || block.number <= draft.processedBlock) return;
  if (draft.newestOffset < BigInt(knownOffset)) return;
  for (const order of [...draft.orders.values()]) {
    if (order.observedBlock === undefined || isKnown(order, processed)) continue;
    draft.observe({ ...order, observedBlock: undefined });
  }
}

function observe(
  draft: Draft,
  fact: Extract<MakerEvent, { type: 'OrderFilled' | 'NonceChanged' | 'BalanceChanged' | 'AllowanceChanged' }>,
): void {
  const at = (value: Hex): Observed => ({ value: BigInt(value), blockNumber: fact.block.number });
  switch (fact.type) {
    case 'OrderFilled':
      return observeFilled(draft, fact.orderHash, at(fact.filledMakingAmount));
    case 'NonceChanged':
      return observeNonce(draft, at(fact.nonce));
    case 'BalanceChanged':
      return draft.observeFunding(fact.token, 'balance', at(fact.balance));
    case 'AllowanceChanged':
      return draft.observeFunding(fact.token, 'allowance', at(fact.allowance));
  }
}

function observeFilled(draft: Draft, orderHash: Hex, filled: Observed): void {
  const order = draft.orders.get(orderHash);
  if (order === undefined) return;
  // What is filled never becomes less: an old reading may lower what is left, and cannot raise it.
  const remaining = order.order.making.amount - filled.value;
  const isNewer = draft.isCurrent(filled) && filled.blockNumber > (order.observedBlock ?? -1);
  const observedBlock = isNewer ? filled.blockNumber : order.observedBlock;
  if (remaining <= 0n) draft.remove(order, 'FILLED');
  else if (remaining < order.remaining) draft.change({ ...order, remaining, observedBlock });
  else if (isNewer) draft.observe({ ...order, observedBlock });
}

function observeNonce(draft: Draft, seen: Observed): void {
  const known = draft.nonce;
  const isNews = known === undefined || seen.value > known.value;
  if (isNews || (seen.value === known.value && seen.blockNumber > known.blockNumber)) draft.nonce = seen;
  if (isNews) draft.noteMaker();
  if (draft.orders.size === 0) return;
  const isWatched = draft.nonceIsWatched || draft.isCurrent(seen);
  if (!isNews && isWatched === draft.nonceIsWatched) return;
  draft.nonceIsWatched = isWatched;
  for (const order of [...draft.orders.values()]) {
    if (draft.nonce !== undefined && order.order.nonce < draft.nonce.value) draft.remove(order, 'NONCE_CHANGED');
  }
  for (const order of draft.orders.values()) draft.dueAtSeconds = Math.min(draft.dueAtSeconds, dueAt(draft, order));
}

function isAheadOfNonce(draft: Pick<Draft, 'nonce' | 'nonceIsWatched'>, order: OpenOrder): boolean {
  return draft.nonceIsWatched && draft.nonce !== undefined && order.order.nonce > draft.nonce.value;
}

/** An order with a nonce above the chain's waits for a block that is not older than its acceptance. */
function isDueAsAhead({ acceptedAtMs }: OpenOrder, nowSeconds: number): boolean {
  return nowSeconds * 1000 >= acceptedAtMs;
}

/**
 * The second at which the block clock next has to look at the order. While the nonce is not watched no block can tell
 * that an order is ahead of it: the order is looked at anew when the nonce is read, and not at every block until then.
 */
function dueAt(draft: Draft, order: OpenOrder): number {
  const next = order.inBook ? routableUntilSeconds(order, draft.rules) : expirySeconds(order);
  return isAheadOfNonce(draft, order) ? Math.min(next, Math.ceil(order.acceptedAtMs / 1000)) : next;
}

/** A private copy of a maker that one call changes and hands back. Orders inside it are never changed in place. */
class Draft {
  readonly rules: Rules;
  readonly orders: Map<Hex, OpenOrder>;
  nonce: Observed | undefined;
  nonceIsWatched: boolean;
  dueAtSeconds: number;
  /** Where the fact that is being applied stands. */
  offset = -1n;
  /** The newest block that was processed before it. */
  processedBlock = -1;
  private readonly before: Maker;
  private readonly funding: Map<Address, Funding>;
  private readonly transitions: Transition[] = [];
  readonly hashes: HashMemory;
  private admission: Maker['admission'];
  private newest: bigint | undefined;

  constructor(before: Maker, rules: Rules) {
    this.before = before;
    this.rules = rules;
    this.hashes = rememberHashes(rules);
    this.admission = before.admission;
    this.nonce = before.nonce;
    this.nonceIsWatched = before.nonceIsWatched;
    this.dueAtSeconds = before.dueAtSeconds;
    this.funding = new Map(before.funding);
    this.orders = new Map(before.orders);
  }

  finish(): Evolved {
    const { admission, nonce, nonceIsWatched, funding, orders, dueAtSeconds } = this;
    const maker: Maker = { maker: this.before.maker, admission, nonce, nonceIsWatched, funding, orders, dueAtSeconds };
    return { maker, transitions: this.transitions };
  }

  cancelHash(orderHash: Hex, expiresAtSeconds: number): void {
    this.note({ kind: 'HashCancelled', orderHash, expiresAtSeconds });
  }

  /**
   * Whether a reading counts that may go down, or is the first one. What changed since an older block has been published
   * before the log got to its `BlockProcessed`: such a reading comes late, from a watcher that lags behind another.
   */
  isCurrent(seen: Observed): boolean {
    return seen.blockNumber >= this.processedBlock;
  }

  noteMaker(): void {
    this.note({ kind: 'MakerChanged', admission: this.admission, nonce: this.nonce });
  }

  admit(admission: Maker['admission']): void {
    if (this.admission === admission) return;
    this.admission = admission;
    this.noteMaker();
  }

  add(order: OpenOrder): void {
    const { token } = order.order.making;
    const known = this.funding.get(token) ?? { balance: undefined, allowance: undefined, openOrders: 0 };
    const funding = { ...known, openOrders: known.openOrders + 1 };
    this.funding.set(token, funding);
    this.orders.set(order.orderHash, order);
    this.newest = max(this.newestOffset, order.acceptedOffset);
    this.dueAtSeconds = Math.min(this.dueAtSeconds, dueAt(this, order));
    this.note({ kind: 'OrderOpened', order, funding });
  }

  observeFunding(token: Address, what: 'balance' | 'allowance', seen: Observed): void {
    const funding = this.funding.get(token);
    if (funding === undefined) return;
    const known = funding[what];
    if (!this.isCurrent(seen) || (known?.blockNumber ?? -1) > seen.blockNumber) return;
    this.funding.set(token, { ...funding, [what]: seen });
  }

  /**
   * Gives all orders the state that nonce and funds say, and notes a change where that is another one. One that lacks its
   * funding entry is broken, and no matter of the others: whoever does something to it finds out.
   */
  rejudgeAll(): void {
    for (const order of this.orders.values()) {
      if (!this.funding.has(order.order.making.token)) continue;
      if (!sameState(this.stateOf(order), order.state)) this.change(order);
    }
  }

  /** Replaces an order that was seen on the chain, or is to be seen anew: its status may follow from that alone. */
  observe(order: OpenOrder): void {
    if (!sameState(this.stateOf(order), order.state)) return this.change(order);
    this.orders.set(order.orderHash, order);
    this.note({ kind: 'OrderObserved', order });
  }

  /** No open order was accepted after this offset. An upper bound, counted once, for blocks are many; -1 without orders. */
  get newestOffset(): bigint {
    if (this.newest === undefined) {
      this.newest = -1n;
      for (const { acceptedOffset } of this.orders.values()) this.newest = max(this.newest, acceptedOffset);
    }
    return this.newest;
  }

  /** Replaces the order, judged anew: less to fill needs less funding. */
  change(order: OpenOrder): void {
    const funding = this.fundingOf(order);
    const changed = { ...order, state: this.stateOf(order) };
    this.orders.set(order.orderHash, changed);
    this.note({ kind: 'OrderChanged', order: changed, funding });
  }

  withhold(order: OpenOrder): OpenOrder {
    const withheld = { ...order, inBook: false };
    this.orders.set(order.orderHash, withheld);
    this.note({ kind: 'OrderWithheld', order: withheld });
    return withheld;
  }

  removeByHash(orderHash: Hex, reason: RemovalReason): void {
    const order = this.orders.get(orderHash);
    if (order !== undefined) this.remove(order, reason);
  }

  remove(order: OpenOrder, reason: RemovalReason): void {
    const { token } = order.order.making;
    const funding = this.fundingOf(order);
    this.orders.delete(order.orderHash);
    if (funding.openOrders === 1) this.funding.delete(token);
    else this.funding.set(token, { ...funding, openOrders: funding.openOrders - 1 });
    if (this.orders.size === 0) {
      this.nonceIsWatched = false;
      this.dueAtSeconds = Number.POSITIVE_INFINITY;
    }
    this.note({ kind: 'OrderRemoved', order, reason });
  }

  private note(change: Change): void {
    this.hashes.note([change]);
    this.transitions.push({ ...change, offset: this.offset });
  }

  private stateOf(order: OpenOrder): OpenOrder['state'] {
    return judge(order, this.watchedNonce(), this.fundingOf(order));
  }

  private fundingOf({ order, orderHash }: OpenOrder): Funding {
    const funding = this.funding.get(order.making.token);
    if (funding === undefined) throw new Error(`order ${orderHash} is open without a funding entry`);
    return funding;
  }

  private watchedNonce(): bigint | undefined {
    return this.nonceIsWatched ? this.nonce?.value : undefined;
  }
}

function sameState(a: OpenOrder['state'], b: OpenOrder['state']): boolean {
  return a.status === b.status && (a.status !== 'INACTIVE' || (b.status === 'INACTIVE' && a.reason === b.reason));
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function never(fact: never): never {
  throw new Error(`a fact that the fold does not know: ${JSON.stringify(fact)}`);
}
