import { bloomHolds } from '@makerbook/chain';
import type { MakerObserved, ObservedFunds, TraceHeaders } from '@makerbook/contracts-events';
import type { Address, Hex, MonotonicMs } from '@makerbook/contracts-primitives';
import { OrderIndex } from './order-index.js';

/** The fields of an order that the watcher needs. */
export interface WatchedOrder {
  readonly orderHash: Hex;
  readonly maker: Address;
  readonly makingToken: Address;
  readonly takingToken: Address;
  readonly expiresAtSeconds: number;
  /** The signature that the maker's contract has to accept (EIP-1271); null where a key signed. */
  readonly walletSignature: Hex | null;
}

/** An order whose wallet may come to refuse it. */
export interface WalletOrder {
  readonly signature: Hex;
  /** Whether the wallet accepts the signature by its newest answer that holds; undefined until it is asked. */
  isAccepted: boolean | undefined;
  /** The same by the newest reading in the log; undefined where that does not say. */
  told: boolean | undefined;
}

/** An order of a wallet that it is asked about, by its slot. */
export interface AskedOrder {
  readonly maker: WatchedMaker;
  readonly order: number;
  readonly own: WalletOrder;
}

/** A token that watched orders take. */
export interface TakingToken {
  readonly address: Address;
  /** How many watched orders take it. */
  orders: number;
  /** Undefined until it was asked for its code. */
  hasCode: boolean | undefined;
  /** The block at which the sweep last asked; -1: it never did. */
  sweptAt: number;
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
  /** Those of them that the wallet is to be asked about, the one that has waited longest first. */
  readonly unasked: Map<number, UnreadOrder>;
  /** What the wallet answered at an earlier block does not hold. */
  walletChangedAt: number;
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

const unproven = { orders: 0, hasCode: undefined, sweptAt: -1 };
/** A token is shared if so many makers sell it. */
const SHARING_MAKERS = 10;
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
  /** Makers whose fills are told, of orders that are not watched too. */
  readonly #known = new Set<Address>();
  readonly #orders = new OrderIndex();
  readonly #pairByOrder: WatchedPair[] = [];
  readonly #takingByOrder: TakingToken[] = [];
  readonly #taking = new Map<Address, TakingToken>();
  /** How many makers sell each token. */
  readonly #sellers = new Map<Address, number>();
  /** Pairs whose reading was put off by the log, and since when; the one that is to be read next comes first. */
  readonly putOff = new Map<WatchedPair, number>();
  /** Makers with orders that their wallet is to be asked about, the one that has waited longest first. */
  readonly #unaskedMakers = new Set<WatchedMaker>();
  readonly #expiresAt: number[] = [];
  readonly #makersByAddress = new Map<Address, WatchedMaker>();
  /** Makers with an order that no key has signed. */
  readonly #wallets = new Set<WatchedMaker>();
  #pairs = 0;
  #expiryLookedAtSeconds = Number.NEGATIVE_INFINITY;

  /** Adds the order unless it is there. */
  add(added: WatchedOrder, unread?: UnreadOrder): void {
    const { orderHash, maker: address, makingToken, takingToken, expiresAtSeconds, walletSignature } = added;
    if (this.findOrder(orderHash) >= 0) return;
    const maker = this.#makersByAddress.get(address) ?? newMaker(address);
    const pair = maker.pairs.get(makingToken) ?? { maker, token: makingToken, orders: 0, funds: undefined };
    const order = this.#orders.insert(orderHash);
    this.#pairByOrder[order] = pair;
    this.#expiresAt[order] = expiresAtSeconds;
    const taking = this.#taking.get(takingToken) ?? { address: takingToken, ...unproven };
    taking.orders += 1;
    this.#taking.set(takingToken, taking);
    this.#takingByOrder[order] = taking;
    if (pair.orders === 0) this.#countPair(makingToken, 1);
    pair.orders += 1;
    maker.pairs.set(makingToken, pair);
    maker.orders.add(order);
    this.#makersByAddress.set(address, maker);
    if (walletSignature === null) {
      if (unread !== undefined) this.unread.set(order, unread);
      return;
    }
    const isAccepted = unread === undefined ? true : undefined;
    maker.walletOrders.set(order, { signature: walletSignature, isAccepted, told: isAccepted });
    this.#wallets.add(maker);
    if (unread !== undefined) this.#ask(maker, order, unread);
  }

  /** Has the fills of these makers told. */
  know(makers: Iterable<Address>): void {
    for (const maker of makers) this.#known.add(maker);
  }

  /** @param account an address, or a topic of a log that holds one */
  knows(account: Hex): boolean {
    return this.#known.has(addressIn(account));
  }

  /** Has all orders of a maker read again. */
  markUnread(address: Address, unread: UnreadOrder): void {
    for (const order of this.findMaker(address)?.orders ?? []) this.#markOrder(order, unread);
  }

  /** Has the orders read again that take a token. */
  markTaking(token: TakingToken, unread: UnreadOrder): void {
    for (const [order, taking] of this.#takingByOrder.entries()) {
      if (taking === token && this.#expiresAt[order] !== Number.POSITIVE_INFINITY) this.#markOrder(order, unread);
    }
  }

  /** One that its wallet is to be asked about is read once that has answered. */
  #markOrder(order: number, unread: UnreadOrder): void {
    if (!this.pairOf(order).maker.unasked.has(order)) this.unread.set(order, unread);
  }

  remove(orderHash: Hex): void {
    const order = this.findOrder(orderHash);
    if (order >= 0) this.#drop(order);
  }

  /** Removes what has expired. All orders are looked at, so it does nothing within a minute of the last time. */
  expire(nowSeconds: number): void {
    if (nowSeconds < this.#expiryLookedAtSeconds + EXPIRY_PAUSE_SECONDS) return;
    this.#expiryLookedAtSeconds = nowSeconds;
    for (const [order, seconds] of this.#expiresAt.entries()) if (seconds <= nowSeconds) this.#drop(order);
  }

  /**
   * A reading that counts is in the log: its orders are read, its values are the newest that the log holds. What was read before a
   * wallet has changed, or before a token had code, is to be read again.
   */
  noteObserved(
    { maker: address, block, nonce, funds, orders, signaturesUnread }: MakerObserved,
    sinceMs: number,
  ): void {
    const maker = this.findMaker(address);
    if (maker === undefined) return;
    if (signaturesUnread) for (const own of maker.walletOrders.values()) own.told = undefined;
    if (signaturesUnread && block.number > maker.walletChangedAt) this.forgetAnswers(maker, block.number, sinceMs);
    for (const { orderHash, refused, noCode } of orders) {
      const order = this.findOrder(orderHash);
      if (order < 0) continue;
      const own = maker.walletOrders.get(order);
      if (own !== undefined) own.told = noCode ? undefined : !refused;
      if (block.number < maker.walletChangedAt && own !== undefined) continue;
      if (own?.told !== undefined && own.isAccepted === undefined) {
        own.isAccepted = own.told;
        this.#endAsking(maker, order);
      }
      const taking = this.takingOf(order);
      if (noCode && taking.hasCode) continue;
      if (noCode) taking.hasCode = false;
      this.unread.delete(order);
    }
    if (nonce !== undefined) maker.nonce = nonce;
    for (const each of funds) {
      const pair = maker.pairs.get(each.token);
      if (pair === undefined) continue;
      pair.funds = each;
      if (!each.unread) this.putOff.delete(pair);
      else if (!this.putOff.has(pair)) this.putOff.set(pair, sinceMs);
    }
  }

  /**
   * What this watcher knew of wallets and of code, and has not published, does not count: another one may have published since,
   * and the block to go on from may be older.
   */
  takeAnswersFromLog(sinceMs: number): void {
    for (const token of this.takingTokens()) {
      if (!token.hasCode) continue;
      token.hasCode = undefined;
      token.sweptAt = -1;
    }
    for (const maker of this.#wallets) {
      maker.walletChangedAt = -1;
      for (const [order, own] of maker.walletOrders) {
        own.isAccepted = own.told;
        if (own.told !== undefined) this.#endAsking(maker, order);
        else if (!maker.unasked.has(order))
          this.#ask(maker, order, this.unread.get(order) ?? { sinceMs, trace: undefined });
      }
    }
  }

  /** True if the reading has a fill or an order, or a value that differs from the newest one in the log. */
  isNews({ maker: address, nonce, funds, orders, fills = [], signaturesUnread }: MakerObserved): boolean {
    if (fills.length > 0 || orders.length > 0 || signaturesUnread) return true;
    const maker = this.findMaker(address);
    if (maker === undefined) return false;
    if (nonce !== undefined && maker.nonce !== nonce) return true;
    return funds.some((each) => {
      const pair = maker.pairs.get(each.token);
      return pair !== undefined && !hasSameFunds(pair.funds, each);
    });
  }

  /** True if the newest reading in the log has put off the maker's funds in the token. */
  isPutOff(maker: Address, token: Address): boolean {
    return this.findPair(token, maker)?.funds?.unread === true;
  }

  /** These wait behind all others whose reading was put off. */
  waitAgain(pairs: readonly WatchedPair[]): void {
    for (const pair of pairs) {
      const sinceMs = this.putOff.get(pair);
      if (sinceMs === undefined || !this.putOff.delete(pair)) continue;
      this.putOff.set(pair, sinceMs);
    }
  }

  /** True if so many makers sell the token that its reading is no cost of one of them. */
  isShared(token: Address): boolean {
    return (this.#sellers.get(token) ?? 0) >= SHARING_MAKERS;
  }

  /** A wallet may judge signatures otherwise from this block on: it is to be asked about all of its orders. */
  forgetAnswers(maker: WatchedMaker, block: number, sinceMs: number): void {
    maker.walletChangedAt = Math.max(block, maker.walletChangedAt);
    for (const [order, own] of maker.walletOrders) {
      own.isAccepted = undefined;
      this.#ask(maker, order, this.unread.get(order) ?? maker.unasked.get(order) ?? { sinceMs, trace: undefined });
    }
  }

  /** What the wallet answered at a block, unless it has changed since, or the order is gone. An order of whom it is news is read. */
  noteAnswer({ maker, order, own }: AskedOrder, isAccepted: boolean, block: number, nowMs: MonotonicMs): void {
    if (maker.walletOrders.get(order) !== own || block < maker.walletChangedAt) return;
    const isNews = own.told === !isAccepted && !this.unread.has(order);
    const unread = maker.unasked.get(order) ?? (isNews ? { sinceMs: nowMs, trace: undefined } : undefined);
    own.isAccepted = isAccepted;
    this.#endAsking(maker, order);
    if (unread !== undefined) this.unread.set(order, unread);
  }

  #endAsking(maker: WatchedMaker, order: number): void {
    maker.unasked.delete(order);
    if (maker.unasked.size === 0) this.#unaskedMakers.delete(maker);
  }

  #ask(maker: WatchedMaker, order: number, unread: UnreadOrder): void {
    this.unread.delete(order);
    maker.unasked.set(order, unread);
    this.#unaskedMakers.add(maker);
  }

  /** Makers with an order that no key has signed, that may have a log of their own in a block. */
  walletsIn(logsBloom: Hex | undefined): WatchedMaker[] {
    return [...this.#wallets].filter(({ address }) => logsBloom === undefined || bloomHolds(logsBloom, address));
  }

  /** Orders whose wallet has answered. */
  *answeredOrders(): Generator<AskedOrder> {
    for (const maker of this.#wallets) {
      for (const [order, own] of maker.walletOrders) if (own.isAccepted !== undefined) yield { maker, order, own };
    }
  }

  hasUnasked(): boolean {
    return this.#unaskedMakers.size > 0;
  }

  /** Some of the orders that a wallet is to be asked about, and not the wallet that was asked before the others. */
  takeUnasked(countMax: number): AskedOrder[] {
    const [maker] = this.#unaskedMakers;
    if (maker === undefined) return [];
    this.#unaskedMakers.delete(maker);
    this.#unaskedMakers.add(maker);
    const orders = [...maker.unasked.keys()].slice(0, countMax);
    return orders.flatMap((order) => {
      const own = maker.walletOrders.get(order);
      return own === undefined ? [] : { maker, order, own };
    });
  }

  takingTokens(): IterableIterator<TakingToken> {
    return this.#taking.values();
  }

  takingOf(order: number): TakingToken {
    const taking = this.#takingByOrder[order];
    if (taking === undefined) throw new Error(`no slot ${order}`);
    return taking;
  }

  makers(): IterableIterator<WatchedMaker> {
    return this.#makersByAddress.values();
  }

  /** The slot of a watched order, or -1. */
  findOrder(orderHash: Hex): number {
    return this.#orders.find(orderHash);
  }

  orderHash(order: number): Hex {
    return this.#orders.hashAt(order);
  }

  pairOf(order: number): WatchedPair {
    const pair = this.#pairByOrder[order];
    if (pair === undefined) throw new Error(`no slot ${order}`);
    return pair;
  }

  /** @param account an address, or a topic of a log that holds one */
  findMaker(account: Hex): WatchedMaker | undefined {
    return this.#makersByAddress.get(addressIn(account));
  }

  /** @param account an address, or a topic of a log that holds one */
  findPair(token: Address, account: Hex): WatchedPair | undefined {
    return this.findMaker(account)?.pairs.get(token);
  }

  /** How many orders of wallets are to be asked about, and since when the oldest of them. */
  unasked(): { readonly orders: number; readonly sinceMs: number | undefined } {
    let orders = 0;
    let sinceMs: number | undefined;
    for (const { unasked } of this.#unaskedMakers) {
      orders += unasked.size;
      for (const each of unasked.values()) sinceMs = Math.min(each.sinceMs, sinceMs ?? each.sinceMs);
    }
    return { orders, sinceMs };
  }

  sizes(): { readonly orders: number; readonly pairs: number; readonly makers: number } {
    return { orders: this.#orders.size, pairs: this.#pairs, makers: this.#makersByAddress.size };
  }

  /** Forgets an order, and what no other order needs. */
  #drop(order: number): void {
    const pair = this.pairOf(order);
    const { maker } = pair;
    this.unread.delete(order);
    this.#orders.delete(order);
    this.#expiresAt[order] = Number.POSITIVE_INFINITY;
    maker.orders.delete(order);
    maker.walletOrders.delete(order);
    this.#endAsking(maker, order);
    if (maker.walletOrders.size === 0) this.#wallets.delete(maker);
    const taking = this.takingOf(order);
    taking.orders -= 1;
    if (taking.orders === 0) this.#taking.delete(taking.address);
    pair.orders -= 1;
    if (pair.orders === 0) {
      maker.pairs.delete(pair.token);
      this.putOff.delete(pair);
      this.#countPair(pair.token, -1);
    }
    if (maker.orders.size === 0) this.#makersByAddress.delete(maker.address);
  }

  #countPair(token: Address, change: 1 | -1): void {
    this.#pairs += change;
    const sellers = (this.#sellers.get(token) ?? 0) + change;
    if (sellers > 0) this.#sellers.set(token, sellers);
    else this.#sellers.delete(token);
  }
}

/** @param account an address, or a topic of a log that holds one */
export function addressIn(account: Hex): Address {
  return `0x${account.slice(-40)}`;
}

function newMaker(address: Address): WatchedMaker {
  const orders = { orders: new Set<number>(), walletOrders: new Map(), unasked: new Map(), walletChangedAt: -1 };
  return { address, ...orders, pairs: new Map(), nonce: undefined };
}

function hasSameFunds(a: ObservedFunds | undefined, b: ObservedFunds): boolean {
  return a?.balance === b.balance && a.allowance === b.allowance && a.unread === b.unread;
}
