import type { BookCause, MakerLimits } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { type Exits, isCutOff } from './exits.js';
import { cappedUntil } from './fill-caps.js';
import { isRoutable, judge } from './judge.js';
import type { LogClock } from './log-clock.js';
import type { Admission, Change, Funding, KnownFunds, Maker, ObservedNonce, Transition } from './maker.js';
import { hasSameLimits } from './maker.js';
import {
  expirySeconds,
  isListedAlike,
  type OpenOrder,
  type RemovalReason,
  type RoutingRules,
  routableUntilSeconds,
  sameState,
  type WithholdingReason,
} from './open-order.js';
import type { HashRules } from './remember-hashes.js';
import { chooseTeller, hasFunds } from './tell-funds.js';
import { put, type Undo } from './undo.js';

/**
 * The inputs of the fold besides the facts: the grace period and the remembered hashes. The caller notes each
 * transition in `HashMemory` before the next fact.
 */
export type Rules = HashRules & RoutingRules;

/** Takes the transitions of a change. If it throws, the change is undone. */
export type Accept = (transitions: readonly Transition[]) => void;

/** One maker in memory, with each write that a fact or the time can lead to. */
export class WritableMaker implements Maker {
  readonly maker: Address;
  readonly rules: Rules;
  admission: Admission;
  limits: MakerLimits;
  nonce: ObservedNonce | undefined;
  exits: Exits;
  listVersion: bigint;
  dueAtSeconds: number;
  readonly #orders: Map<Hex, OpenOrder>;
  readonly #funding: Map<Address, Funding>;
  #undo: Undo[] = [];
  #transitions: Transition[] = [];
  #offset = -1n;

  /** @param maker copied, not changed */
  constructor(maker: Maker, rules: Rules) {
    this.maker = maker.maker;
    this.rules = rules;
    this.admission = maker.admission;
    this.limits = maker.limits;
    this.nonce = maker.nonce;
    this.exits = maker.exits;
    this.listVersion = maker.listVersion;
    this.dueAtSeconds = maker.dueAtSeconds;
    this.#orders = new Map(maker.orders);
    this.#funding = new Map(maker.funding);
  }

  get orders(): ReadonlyMap<Hex, OpenOrder> {
    return this.#orders;
  }

  get funding(): ReadonlyMap<Address, Funding> {
    return this.#funding;
  }

  /** True if the order's nonce is above the chain's. That is known only once the order was read. */
  isAhead(order: Pick<OpenOrder, 'order' | 'isObserved'>): boolean {
    return order.isObserved && this.nonce !== undefined && order.order.nonce > this.nonce.value;
  }

  /** True if the chain's nonce has passed the nonce, so an order with it can never be filled. */
  hasPassed(nonce: bigint): boolean {
    return this.nonce !== undefined && nonce < this.nonce.value;
  }

  /** True if the maker has cancelled the order together with others. */
  isCutOff(order: Pick<OpenOrder, 'order' | 'acceptedAtMs'>, clock: LogClock): boolean {
    return isCutOff(order, this.exits, clock);
  }

  /** The order with `cappedUntil` set by the maker's caps. */
  withCap(order: OpenOrder, clock: LogClock): OpenOrder {
    const until = cappedUntil(this.exits.caps, order.order.making.token, clock);
    return until === order.cappedUntil ? order : { ...order, cappedUntil: until };
  }

  /** Judges the order again by its maker's caps. */
  recap(order: OpenOrder, clock: LogClock): OpenOrder {
    const next = this.withCap(order, clock);
    return next === order ? order : this.change(next, ['CAP_CHANGED'], clock);
  }

  /** True if the order's state agrees with the known nonce and funds. */
  isJudged(order: OpenOrder): boolean {
    return sameState(order.state, judge(order, this.nonce?.value, this.#fundingOf(order).known));
  }

  /**
   * Sets the admission. Orders of a suspended or removed maker leave the book. They are still watched and judged
   * meanwhile, so those that come back do so in their present state.
   * @param clock of the partition
   */
  setAdmission(admission: Admission, clock: LogClock): void {
    if (this.admission !== admission) {
      this.admission = admission;
      this.#noteMaker();
    }
    for (const order of [...this.#orders.values()]) {
      if (!order.inBook) this.change(order, ['ADMITTED'], clock);
      else if (!isRoutable(order, admission, clock, this.rules)) this.withhold(order, 'SUSPENDED');
    }
  }

  setLimits(limits: MakerLimits): void {
    if (hasSameLimits(this.limits, limits)) return;
    this.limits = limits;
    this.#noteMaker();
  }

  setExits(exits: Exits): void {
    const textOf = ({ cancelKeys, readKeys }: Exits) => JSON.stringify([cancelKeys, readKeys]);
    const hasOtherKeys = textOf(exits) !== textOf(this.exits);
    this.exits = exits;
    if (exits.cancelAt > 0 && this.#orders.size > 0) this.dueAtSeconds = Math.min(this.dueAtSeconds, exits.cancelAt);
    if (hasOtherKeys) this.#noteMaker();
  }

  /** @param nonce above the known one */
  setNonce(nonce: ObservedNonce): void {
    this.nonce = nonce;
    this.#noteMaker();
  }

  /**
   * @param token one that an open order sells
   * @param known undefined: no longer known
   */
  setFunds(token: Address, known: KnownFunds | undefined): void {
    const funding = this.#funding.get(token);
    if (funding !== undefined) this.#setFunding(token, { ...funding, known });
  }

  add(order: OpenOrder, isWithheld: boolean): void {
    const { token } = order.order.making;
    const funding = this.#funding.get(token) ?? { known: undefined, openOrders: 0 };
    this.#setFunding(token, { ...funding, openOrders: funding.openOrders + 1 });
    this.#setOrder(order.orderHash, order);
    this.note({ kind: 'OrderOpened', order, isWithheld });
  }

  /**
   * Replaces the order, judges it again, and reports what readers see of the change. The order may enter the book here,
   * and only a cap withholds it.
   */
  change(order: OpenOrder, causes: readonly BookCause[], clock: LogClock): OpenOrder {
    const before = this.#orders.get(order.orderHash);
    const funding = this.#fundingOf(order);
    const state = judge(order, this.nonce?.value, funding.known);
    const mayBe = order.inBook || state.status !== 'VALIDATING';
    const changed = { ...order, state, inBook: mayBe && isRoutable(order, this.admission, clock, this.rules) };
    this.#setOrder(order.orderHash, changed);
    const isSame = before !== undefined && isListedAlike(before, changed) && before.inBook === changed.inBook;
    const isVisible = !isSame || causes.includes('RELEASED');
    if (before?.inBook && !changed.inBook) this.note({ kind: 'OrderWithheld', order: changed, reason: 'CAPPED' });
    else if (isVisible) this.note({ kind: 'OrderChanged', order: changed, funding, causes });
    else if (before.isObserved !== changed.isObserved || before.waitsFor !== changed.waitsFor)
      this.note({ kind: 'OrderObserved', order: changed });
    return changed;
  }

  /** Makes an order that sells the token tell the feed its funds, unless changes of orders have told them. */
  tellFunds(token: Address, causes: readonly BookCause[]): void {
    const changed = this.#transitions.flatMap((one) => (one.kind === 'OrderChanged' ? one.order.orderHash : []));
    this.#tell(token, new Set(changed), causes);
  }

  /** If the only order whose record had the funds has left, makes another order tell them. */
  #replaceTellers(): void {
    for (const [token, { teller }] of this.#funding) {
      if (teller === undefined) continue;
      const order = this.#orders.get(teller);
      if (order !== undefined && hasFunds(order)) continue;
      this.#tell(token, new Set(), ['ALLOWANCE_CHANGED', 'BALANCE_CHANGED']);
    }
  }

  /** @param changed orders whose new records have the funds anyway */
  #tell(token: Address, changed: ReadonlySet<Hex>, causes: readonly BookCause[]): void {
    const funding = this.#funding.get(token);
    if (funding === undefined) return;
    const { teller, repeated } = chooseTeller(this.#orders.values(), token, changed);
    if (repeated !== undefined) this.note({ kind: 'FundsChanged', order: repeated, funding, causes });
    if (funding.teller !== teller) this.#setFunding(token, { ...funding, teller });
  }

  remove(order: OpenOrder, reason: RemovalReason): void {
    const { token } = order.order.making;
    const funding = this.#fundingOf(order);
    const openOrders = funding.openOrders - 1;
    this.#setOrder(order.orderHash, undefined);
    this.#setFunding(token, openOrders === 0 ? undefined : { ...funding, openOrders });
    this.note({ kind: 'OrderRemoved', order, reason });
  }

  /** Takes the order out of the book. */
  withhold(order: OpenOrder, reason: WithholdingReason): OpenOrder {
    const withheld = this.hide(order);
    this.note({ kind: 'OrderWithheld', order: withheld, reason });
    return withheld;
  }

  /** Takes the order out of the book and tells nobody: no feed had what was folded in quarantine. */
  hide(order: OpenOrder): OpenOrder {
    const hidden = { ...order, inBook: false };
    this.#setOrder(order.orderHash, hidden);
    return hidden;
  }

  note(change: Change): void {
    this.#transitions.push({ ...change, offset: this.#offset });
  }

  #noteMaker(): void {
    const { admission, limits, nonce, exits } = this;
    this.note({ kind: 'MakerChanged', admission, limits, nonce, exits });
  }

  /** The second at which the order is next due for a change. */
  dueAt(order: OpenOrder): number {
    const { cancelAt } = this.exits;
    const isSwitched = cancelAt > 0 && order.acceptedAtMs <= cancelAt * 1000;
    const ends = order.inBook ? routableUntilSeconds(order, this.rules) : expirySeconds(order);
    const own = order.cappedUntil > 0 ? Math.min(ends, order.cappedUntil) : ends;
    const next = isSwitched ? Math.min(own, cancelAt) : own;
    return this.isAhead(order) ? Math.min(next, Math.ceil(order.acceptedAtMs / 1000)) : next;
  }

  #fundingOf({ order, orderHash }: OpenOrder): Funding {
    const funding = this.#funding.get(order.making.token);
    if (funding === undefined) throw new Error(`order ${orderHash} is open without a funding entry`);
    return funding;
  }

  #setOrder(orderHash: Hex, order: OpenOrder | undefined): void {
    const before = this.#orders.get(orderHash);
    this.#undo.push({ orders: orderHash, before });
    if (before === undefined || order === undefined || !isListedAlike(before, order)) this.listVersion = this.#offset;
    put(this.#orders, orderHash, order);
    if (order !== undefined) this.dueAtSeconds = Math.min(this.dueAtSeconds, this.dueAt(order));
    else if (this.#orders.size === 0) this.dueAtSeconds = Number.POSITIVE_INFINITY;
  }

  #setFunding(token: Address, funding: Funding | undefined): void {
    this.#undo.push({ funding: token, before: this.#funding.get(token) });
    put(this.#funding, token, funding);
  }

  /** Does the work, or nothing of it. If it or `accept` throws, the maker is as it was before. */
  attempt(offset: bigint, accept: Accept | undefined, work: () => void): readonly Transition[] {
    const { admission, limits, nonce, exits, listVersion, dueAtSeconds } = this;
    this.#offset = offset;
    try {
      work();
      this.#replaceTellers();
      accept?.(this.#transitions);
      return this.#transitions;
    } catch (error) {
      this.admission = admission;
      this.limits = limits;
      this.nonce = nonce;
      this.exits = exits;
      this.listVersion = listVersion;
      this.dueAtSeconds = dueAtSeconds;
      this.#takeBack();
      throw error;
    } finally {
      // Do not hold on to the last change: a maker may be held for long.
      this.#undo = [];
      this.#transitions = [];
    }
  }

  #takeBack(): void {
    for (const write of this.#undo.toReversed()) {
      if ('orders' in write) put(this.#orders, write.orders, write.before);
      else put(this.#funding, write.funding, write.before);
    }
    // Restore the order of acceptance, because an order that is put back comes last.
    const orders = [...this.#orders].sort(([, a], [, b]) => (a.acceptedOffset < b.acceptedOffset ? -1 : 1));
    this.#orders.clear();
    for (const [orderHash, order] of orders) this.#orders.set(orderHash, order);
  }
}
