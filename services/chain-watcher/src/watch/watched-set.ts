import type { MakerObserved, TraceHeaders } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { KeyIndex, readWords } from './key-index.js';

/** The fields of an order that the watcher needs. */
export interface WatchedOrder {
  readonly orderHash: Hex;
  readonly maker: Address;
  readonly makingToken: Address;
  readonly expiresAtSeconds: number;
}

/** An order that no reading in the log names yet. */
export interface UnreadOrder {
  readonly sinceMs: number;
  /** The trace of the request that submitted it. */
  readonly trace: TraceHeaders | undefined;
}

const NONE = -1;
/** Expired orders are dropped this often; until then they are watched without harm. */
const EXPIRY_PAUSE_SECONDS = 60;

/**
 * The watched orders, makers and pairs (maker, making token). It is a map, not a fold: an order enters with `OrderSubmitted`
 * and leaves with the feed's tombstone or its expiry. So it has too much for a while, and never too little. Slots, small
 * integers that are used again, name orders, pairs and makers. All values are in columns by slot, so that a million orders
 * cost some 200 MB.
 */
export class WatchedSet {
  private readonly orders = new KeyIndex(8);
  private readonly orderPair: number[] = [];
  private readonly nextOrder: number[] = [];
  private readonly previousOrder: number[] = [];
  private readonly expiresAt: number[] = [];
  private expiryLookedAtSeconds = Number.NEGATIVE_INFINITY;
  private readonly unreadOrders = new Map<number, UnreadOrder>();

  /** The pairs, by token and maker slot. */
  private readonly pairs = new KeyIndex(6);
  private readonly pairOrders: number[] = [];
  private readonly balances: (bigint | undefined)[] = [];
  private readonly allowances: (bigint | undefined)[] = [];

  private readonly makers = new KeyIndex(5);
  private readonly makerOrders: number[] = [];
  private readonly firstOrder: number[] = [];
  private readonly nonces: (bigint | undefined)[] = [];

  private readonly key = new Uint32Array(8);

  /** Adds the order unless it is there. */
  add({ orderHash, maker, makingToken, expiresAtSeconds }: WatchedOrder, unread: UnreadOrder | undefined): void {
    if (this.findOrder(orderHash) >= 0) return;
    const makerSlot = this.makers.findOrInsert(readWords(maker, 2, 5, this.key));
    const pair = this.addToPair(makerSlot, makingToken);
    const order = this.orders.findOrInsert(readWords(orderHash, 2, 8, this.key));
    const count = this.makerOrders[makerSlot] ?? 0;
    const first = count === 0 ? NONE : at(this.firstOrder, makerSlot);
    if (count === 0) this.nonces[makerSlot] = undefined;
    this.makerOrders[makerSlot] = count + 1;
    this.firstOrder[makerSlot] = order;
    this.orderPair[order] = pair;
    this.nextOrder[order] = first;
    this.previousOrder[order] = NONE;
    if (first >= 0) this.previousOrder[first] = order;
    this.expiresAt[order] = expiresAtSeconds;
    if (unread !== undefined) this.unreadOrders.set(order, unread);
  }

  /** Has all orders of a maker read again. */
  markUnread(maker: Address, unread: UnreadOrder): void {
    const slot = this.findMaker(maker);
    if (slot >= 0) for (const order of this.ordersOf(slot)) this.unreadOrders.set(order, unread);
  }

  remove(orderHash: Hex): void {
    const order = this.findOrder(orderHash);
    if (order >= 0) this.drop(order);
  }

  /** Removes what has expired. All orders are looked at, so it does nothing within a minute of the last time. */
  expire(nowSeconds: number): void {
    if (nowSeconds < this.expiryLookedAtSeconds + EXPIRY_PAUSE_SECONDS) return;
    this.expiryLookedAtSeconds = nowSeconds;
    for (let order = 0; order < this.expiresAt.length; order += 1) {
      if (at(this.expiresAt, order) <= nowSeconds) this.drop(order);
    }
  }

  /** A reading that counts is in the log: its orders are read, its values are the newest that the log holds. */
  noteObserved({ maker, nonce, funds, orders }: MakerObserved): void {
    for (const { orderHash } of orders) {
      const order = this.findOrder(orderHash);
      if (order >= 0) this.unreadOrders.delete(order);
    }
    const slot = this.findMaker(maker);
    if (slot < 0) return;
    if (nonce !== undefined) this.nonces[slot] = BigInt(nonce);
    for (const { token, balance, allowance } of funds) {
      const pair = this.findPair(token, maker);
      if (pair < 0) continue;
      this.balances[pair] = BigInt(balance);
      this.allowances[pair] = BigInt(allowance);
    }
  }

  /** True if the reading names an order, or has a value that differs from the newest one in the log. */
  isNews({ maker, nonce, funds, orders }: MakerObserved): boolean {
    if (orders.length > 0) return true;
    const slot = this.findMaker(maker);
    if (slot < 0) return false;
    if (nonce !== undefined && this.nonces[slot] !== BigInt(nonce)) return true;
    return funds.some(({ token, balance, allowance }) => {
      const pair = this.findPair(token, maker);
      return pair >= 0 && (this.balances[pair] !== BigInt(balance) || this.allowances[pair] !== BigInt(allowance));
    });
  }

  /** Orders that are to be read, by their slots, the one that has waited longest first. */
  get unread(): ReadonlyMap<number, UnreadOrder> {
    return this.unreadOrders;
  }

  /** The slot of a watched order, or -1. */
  findOrder(orderHash: Hex): number {
    return this.orders.find(readWords(orderHash, 2, 8, this.key));
  }

  /** The slot of a watched maker, or -1. Takes hex of any case: a topic of a log, or an address. */
  findMaker(account: Hex): number {
    return this.makers.find(readWords(account, account.length - 40, 5, this.key));
  }

  /** The slot of a watched pair, or -1. */
  findPair(token: Hex, account: Hex): number {
    const maker = this.findMaker(account);
    return maker < 0 ? NONE : this.pairs.find(this.pairKey(maker, token));
  }

  orderHash(order: number): Hex {
    return this.orders.hexAt(order);
  }

  pairOf(order: number): number {
    return at(this.orderPair, order);
  }

  makerOf(pair: number): number {
    return this.pairs.wordAt(pair, 5);
  }

  makerAddress(maker: number): Address {
    return this.makers.hexAt(maker);
  }

  tokenAddress(pair: number): Address {
    return this.pairs.hexAt(pair, 5);
  }

  /** The slots of a maker's orders, newest first. */
  ordersOf(maker: number): number[] {
    const orders: number[] = [];
    for (let order = at(this.firstOrder, maker); order >= 0; order = at(this.nextOrder, order)) orders.push(order);
    return orders;
  }

  /** The slots of watched makers, from one on. */
  *makerSlots(from = 0): Generator<number> {
    for (let slot = from; slot < this.makers.slotsEnd; slot += 1) if (at(this.makerOrders, slot) > 0) yield slot;
  }

  sizes(): { readonly orders: number; readonly pairs: number; readonly makers: number } {
    return { orders: this.orders.size, pairs: this.pairs.size, makers: this.makers.size };
  }

  private addToPair(maker: number, token: Address): number {
    const pair = this.pairs.findOrInsert(this.pairKey(maker, token));
    const before = this.pairOrders[pair] ?? 0;
    this.pairOrders[pair] = before + 1;
    if (before > 0) return pair;
    this.balances[pair] = undefined;
    this.allowances[pair] = undefined;
    return pair;
  }

  /** Forgets an order, and what no other order needs. */
  private drop(order: number): void {
    const pair = this.pairOf(order);
    const maker = this.makerOf(pair);
    const next = at(this.nextOrder, order);
    const previous = at(this.previousOrder, order);
    if (next >= 0) this.previousOrder[next] = previous;
    if (previous >= 0) this.nextOrder[previous] = next;
    else this.firstOrder[maker] = next;
    this.unreadOrders.delete(order);
    this.orders.delete(order);
    this.expiresAt[order] = Number.POSITIVE_INFINITY;

    const pairOrders = at(this.pairOrders, pair) - 1;
    this.pairOrders[pair] = pairOrders;
    if (pairOrders === 0) this.pairs.delete(pair);
    const makerOrders = at(this.makerOrders, maker) - 1;
    this.makerOrders[maker] = makerOrders;
    if (makerOrders === 0) this.makers.delete(maker);
  }

  private pairKey(maker: number, token: Hex): Uint32Array {
    readWords(token, 2, 5, this.key);
    this.key[5] = maker;
    return this.key;
  }
}

function at(column: readonly number[], slot: number): number {
  const value = column[slot];
  if (value === undefined) throw new Error(`no slot ${slot}`);
  return value;
}
