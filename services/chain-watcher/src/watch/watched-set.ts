import { bloomHolds } from '@makerbook/chain';
import type { MakerObserved, ObservedFunds, ObservedOrder, TraceHeaders } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { OrderIndex } from './order-index.js';

/** The fields of an order that the watcher needs. */
export interface WatchedOrder {
  readonly orderHash: Hex;
  readonly maker: Address;
  readonly makingToken: Address;
  readonly expiresAtSeconds: number;
  /** The signature that the maker's contract has to accept (EIP-1271); null where a key signed. */
  readonly walletSignature: Hex | null;
}

/** An order whose wallet may come to refuse it. */
export interface WalletOrder {
  readonly signature: Hex;
  /** The newest reading in the log; undefined before the first. */
  known: ObservedOrder | undefined;
}

/** A maker and a token that its watched orders sell. */
export interface WatchedPair {
  readonly maker: WatchedMaker;
  readonly token: Address;
  /** How many watched orders sell the token. */
  orders: number;
  /** The newest reading in the log; undefined before the first. */
  funds: ObservedFunds | undefined;
}

/** A maker with all of its watched orders. */
export interface WatchedMaker {
  readonly address: Address;
  /** Their slots. */
  readonly orders: Set<number>;
  /** Those that no key has signed, by their slots. */
  readonly walletOrders: Map<number, WalletOrder>;
  /** By token. */
  readonly pairs: Map<Address, WatchedPair>;
  /** The newest reading in the log; undefined before the first. */
  nonce: Hex | undefined;
}

/** An order that no reading in the log names yet. */
export interface UnreadOrder {
  readonly sinceMs: number;
  /** The trace of the request that submitted it. */
  readonly trace: TraceHeaders | undefined;
}

/** Expired orders are dropped this often; until then they are watched without harm. */
const EXPIRY_PAUSE_SECONDS = 60;

/**
 * The watched orders, makers and pairs (maker, making token). It is a map, not a fold: an order enters with `OrderSubmitted`
 * and leaves with the feed's tombstone or its expiry. So it has too much for a while, and never too little. Slots, small
 * integers that are used again, name orders: a million of them cost some 150 MB.
 */
export class WatchedSet {
  /** Orders that are to be read, by their slots, the one that has waited longest first. */
  readonly unread = new Map<number, UnreadOrder>();
  /** Makers of whom the log has told: fills of their orders are told too, when none is watched any more. */
  private readonly known = new Set<Address>();
  private readonly orders = new OrderIndex();
  private readonly pairByOrder: WatchedPair[] = [];
  private readonly expiresAt: number[] = [];
  private readonly makersByAddress = new Map<Address, WatchedMaker>();
  /** Makers with an order that no key has signed. */
  private readonly wallets = new Set<WatchedMaker>();
  private pairs = 0;
  private expiryLookedAtSeconds = Number.NEGATIVE_INFINITY;

  /** Adds the order unless it is there. */
  add(added: WatchedOrder, unread?: UnreadOrder): void {
    const { orderHash, maker: address, makingToken, expiresAtSeconds, walletSignature } = added;
    if (this.findOrder(orderHash) >= 0) return;
    this.known.add(address);
    const maker = this.makersByAddress.get(address) ?? newMaker(address);
    const pair = maker.pairs.get(makingToken) ?? { maker, token: makingToken, orders: 0, funds: undefined };
    const order = this.orders.insert(orderHash);
    this.pairByOrder[order] = pair;
    this.expiresAt[order] = expiresAtSeconds;
    if (pair.orders === 0) this.pairs += 1;
    pair.orders += 1;
    maker.pairs.set(makingToken, pair);
    maker.orders.add(order);
    if (walletSignature !== null) {
      maker.walletOrders.set(order, { signature: walletSignature, known: undefined });
      this.wallets.add(maker);
    }
    this.makersByAddress.set(address, maker);
    if (unread !== undefined) this.unread.set(order, unread);
  }

  /** Adds makers, with or without orders. */
  know(makers: Iterable<Address>): void {
    for (const maker of makers) this.known.add(maker);
  }

  /** @param account an address, or a topic of a log that holds one */
  knows(account: Hex): boolean {
    return this.known.has(addressIn(account));
  }

  /** Has all orders of a maker read again. */
  markUnread(address: Address, unread: UnreadOrder): void {
    for (const order of this.findMaker(address)?.orders ?? []) this.unread.set(order, unread);
  }

  remove(orderHash: Hex): void {
    const order = this.findOrder(orderHash);
    if (order >= 0) this.drop(order);
  }

  /** Removes what has expired. All orders are looked at, so it does nothing within a minute of the last time. */
  expire(nowSeconds: number): void {
    if (nowSeconds < this.expiryLookedAtSeconds + EXPIRY_PAUSE_SECONDS) return;
    this.expiryLookedAtSeconds = nowSeconds;
    for (const [order, seconds] of this.expiresAt.entries()) if (seconds <= nowSeconds) this.drop(order);
  }

  /** A reading that counts is in the log: its orders are read, its values are the newest that the log holds. */
  noteObserved({ maker: address, nonce, funds, orders }: MakerObserved): void {
    for (const { orderHash } of orders) this.unread.delete(this.findOrder(orderHash));
    const maker = this.findMaker(address);
    if (maker === undefined) return;
    for (const each of maker.walletOrders.size === 0 ? [] : orders) {
      const order = maker.walletOrders.get(this.findOrder(each.orderHash));
      if (order !== undefined) order.known = each;
    }
    if (nonce !== undefined) maker.nonce = nonce;
    for (const each of funds) {
      const pair = maker.pairs.get(each.token);
      if (pair !== undefined) pair.funds = each;
    }
  }

  /**
   * True if the reading has a fill, or a value that differs from the newest one in the log. An order is always news, unless it is a
   * wallet's, which is read again and again.
   */
  isNews({ maker: address, nonce, funds, orders, fills = [] }: MakerObserved): boolean {
    const maker = this.findMaker(address);
    const isRepeat = (order: ObservedOrder) =>
      isSame(order, maker?.walletOrders.get(this.findOrder(order.orderHash))?.known);
    if (fills.length > 0 || !orders.every(isRepeat)) return true;
    if (maker === undefined) return false;
    if (nonce !== undefined && maker.nonce !== nonce) return true;
    return funds.some(({ token, balance, allowance }) => {
      const pair = maker.pairs.get(token);
      return pair !== undefined && (pair.funds?.balance !== balance || pair.funds.allowance !== allowance);
    });
  }

  /** Makers with an order that no key has signed, that may have a log of their own in a block. */
  walletsIn(logsBloom: Hex | undefined): WatchedMaker[] {
    return [...this.wallets].filter(({ address }) => logsBloom === undefined || bloomHolds(logsBloom, address));
  }

  makers(): IterableIterator<WatchedMaker> {
    return this.makersByAddress.values();
  }

  /** The slot of a watched order, or -1. */
  findOrder(orderHash: Hex): number {
    return this.orders.find(orderHash);
  }

  orderHash(order: number): Hex {
    return this.orders.hashAt(order);
  }

  pairOf(order: number): WatchedPair {
    const pair = this.pairByOrder[order];
    if (pair === undefined) throw new Error(`no slot ${order}`);
    return pair;
  }

  /** @param account an address, or a topic of a log that holds one */
  findMaker(account: Hex): WatchedMaker | undefined {
    return this.makersByAddress.get(addressIn(account));
  }

  /** @param account an address, or a topic of a log that holds one */
  findPair(token: Address, account: Hex): WatchedPair | undefined {
    return this.findMaker(account)?.pairs.get(token);
  }

  sizes(): { readonly orders: number; readonly pairs: number; readonly makers: number } {
    return { orders: this.orders.size, pairs: this.pairs, makers: this.makersByAddress.size };
  }

  /** Forgets an order, and what no other order needs. */
  private drop(order: number): void {
    const pair = this.pairOf(order);
    const { maker } = pair;
    this.unread.delete(order);
    this.orders.delete(order);
    this.expiresAt[order] = Number.POSITIVE_INFINITY;
    maker.orders.delete(order);
    maker.walletOrders.delete(order);
    if (maker.walletOrders.size === 0) this.wallets.delete(maker);
    pair.orders -= 1;
    if (pair.orders === 0) {
      maker.pairs.delete(pair.token);
      this.pairs -= 1;
    }
    if (maker.orders.size === 0) this.makersByAddress.delete(maker.address);
  }
}

/** @param account an address, or a topic of a log that holds one */
export function addressIn(account: Hex): Address {
  return `0x${account.slice(-40)}`;
}

function newMaker(address: Address): WatchedMaker {
  return { address, orders: new Set(), walletOrders: new Map(), pairs: new Map(), nonce: undefined };
}

function isSame(order: ObservedOrder, known: ObservedOrder | undefined): boolean {
  const { filled, cancelled, refused } = order;
  return known?.filled === filled && known.cancelled === cancelled && known.refused === refused;
}
