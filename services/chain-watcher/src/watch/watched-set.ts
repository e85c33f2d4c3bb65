import type { MakerObserved, ObservedFunds } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { OrderIndex } from './order-index.js';
import { WalletAnswers } from './wallet-answers.js';
import {
  addressIn,
  newMaker,
  type TakingToken,
  type UnreadOrder,
  type WatchedMaker,
  type WatchedOrder,
  type WatchedPair,
} from './watched-maker.js';

const unproven = { orders: 0, hasCode: undefined, sweptAt: -1 };
/** A token is shared if this many makers sell it. */
const SHARING_MAKERS = 10;
/** Expired orders are dropped this often; until then they are watched without harm. */
const EXPIRY_PAUSE_SECONDS = 60;
/** `retain` pauses after so many orders. */
const RETAINED_AT_ONCE = 10_000;

/**
 * The watched orders, makers and pairs (maker, making token). It is a map, not a fold: an order enters with
 * `OrderSubmitted`, and leaves with its maker's cancellation, the feed's tombstone, a reading that finds it cancelled,
 * its expiry, or the rows (`forgetEnded`). So it may have too much for a while, but never too little. Slots (small,
 * reused integers) name orders. A million orders cost about 160 MB.
 */
export class WatchedSet {
  /** Orders to read, keyed by slot. The one that has waited longest comes first. */
  readonly unread = new Map<number, UnreadOrder>();
  readonly wallets = new WalletAnswers(this.unread);
  /** Makers whose fills are published, even those of unwatched orders. */
  readonly #known = new Set<Address>();
  readonly #orders = new OrderIndex();
  readonly #pairByOrder: WatchedPair[] = [];
  readonly #takingByOrder: TakingToken[] = [];
  readonly #taking = new Map<Address, TakingToken>();
  /** How many makers sell each token. */
  readonly #sellers = new Map<Address, number>();
  /** Pairs that the log holds as put off, and since when. The one to read next comes first. */
  readonly putOff = new Map<WatchedPair, number>();
  readonly #expiresAt: number[] = [];
  /** The offset of each order in the log; -1 if it comes from the rows. */
  readonly #offsets: number[] = [];
  readonly #makersByAddress = new Map<Address, WatchedMaker>();
  #pairs = 0;
  #expiryLookedAtSeconds = Number.NEGATIVE_INFINITY;

  /** Adds the order unless it is there. @param offset its place in the log; undefined from the rows */
  add(added: WatchedOrder, unread?: UnreadOrder, offset?: bigint): void {
    const { orderHash, maker: address, makingToken, takingToken, expiresAtSeconds, walletSignature } = added;
    const known = this.findOrder(orderHash);
    if (known >= 0) {
      // Rows that were read before a failover may stem from facts that are folded again.
      if (offset !== undefined) this.#offsets[known] = Number(offset);
      return;
    }
    const maker = this.#makersByAddress.get(address) ?? newMaker(address);
    const pair = maker.pairs.get(makingToken) ?? { maker, token: makingToken, orders: 0, funds: undefined };
    const order = this.#orders.insert(orderHash);
    this.#pairByOrder[order] = pair;
    this.#expiresAt[order] = expiresAtSeconds;
    this.#offsets[order] = Number(offset ?? -1);
    const taking = this.#taking.get(takingToken) ?? { address: takingToken, ...unproven };
    taking.orders += 1;
    this.#taking.set(takingToken, taking);
    this.#takingByOrder[order] = taking;
    if (pair.orders === 0) this.#countPair(makingToken, 1);
    pair.orders += 1;
    maker.pairs.set(makingToken, pair);
    maker.orders.add(order);
    this.#makersByAddress.set(address, maker);
    if (walletSignature !== null) this.wallets.add(maker, order, walletSignature, unread);
    else if (unread !== undefined) this.unread.set(order, unread);
  }

  /** Has the fills of these makers published. */
  know(makers: Iterable<Address>): void {
    for (const maker of makers) this.#known.add(maker);
  }

  /** @param account an address, or a topic of a log that holds one */
  knows(account: Hex): boolean {
    return this.#known.has(addressIn(account));
  }

  /** Has all orders of a maker read again, because no earlier reading counts. */
  markUnread(address: Address, unread: UnreadOrder): void {
    const maker = this.findMaker(address);
    if (maker === undefined) return;
    this.wallets.askAgain(maker, unread.sinceMs);
    for (const order of maker.orders) this.#markOrder(order, unread);
  }

  /** Has the orders that take a token read again. */
  markTaking(token: TakingToken, unread: UnreadOrder): void {
    for (const [order, taking] of this.#takingByOrder.entries()) {
      if (taking === token && this.#expiresAt[order] !== Number.POSITIVE_INFINITY) this.#markOrder(order, unread);
    }
  }

  /** Has an order read again. If its wallet has to be asked, the order is read after the answer. */
  #markOrder(order: number, unread: UnreadOrder): void {
    if (!this.pairOf(order).maker.unasked.has(order)) this.unread.set(order, unread);
  }

  /** @param by removes only an order of this maker; undefined: of any maker */
  remove(orderHash: Hex, by?: Address): void {
    const order = this.findOrder(orderHash);
    if (order >= 0 && (by === undefined || this.pairOf(order).maker.address === by)) this.#drop(order);
  }

  /** Removes expired orders. It looks at all orders, so it does nothing within a minute of the last time. */
  expire(nowSeconds: number): void {
    if (nowSeconds < this.#expiryLookedAtSeconds + EXPIRY_PAUSE_SECONDS) return;
    this.#expiryLookedAtSeconds = nowSeconds;
    for (const [order, seconds] of this.#expiresAt.entries()) if (seconds <= nowSeconds) this.#drop(order);
  }

  /**
   * Drops the orders for which `stays` is false. The offset is undefined for an order from the rows. A million orders
   * take seconds, so it pauses now and then. It may or may not look at an order that is added meanwhile.
   */
  async retain(
    stays: (order: number, maker: Address, offset: bigint | undefined) => boolean,
    pause: () => Promise<void>,
  ): Promise<void> {
    for (const order of this.#expiresAt.keys()) {
      if (order % RETAINED_AT_ONCE === RETAINED_AT_ONCE - 1) await pause();
      if (this.#expiresAt[order] === Number.POSITIVE_INFINITY) continue;
      const offset = this.#offsets[order] ?? -1;
      if (!stays(order, this.pairOf(order).maker.address, offset < 0 ? undefined : BigInt(offset))) this.#drop(order);
    }
  }

  /**
   * Notes a reading that counts: its orders are read, and its values are the newest in the log. An order that was read
   * before its wallet changed, or before its token had code, has to be read again.
   */
  noteObserved(
    { maker: address, block, nonce, funds, orders, signaturesUnread }: MakerObserved,
    sinceMs: number,
  ): void {
    const maker = this.findMaker(address);
    if (maker === undefined) return;
    if (signaturesUnread) this.wallets.noteUnread(maker, block.number, sinceMs);
    for (const observed of orders) {
      const order = this.findOrder(observed.orderHash);
      if (order < 0) continue;
      if (observed.cancelled) {
        this.#drop(order);
        continue;
      }
      if (!this.wallets.noteObserved(maker, order, observed, block.number)) continue;
      const taking = this.takingOf(order);
      if (observed.noCode && taking.hasCode) {
        if (!this.unread.has(order)) this.#markOrder(order, { sinceMs, trace: undefined });
        continue;
      }
      if (observed.noCode) taking.hasCode = false;
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
   * Drops what this watcher knew of wallets and of code and has not published. Another watcher may have published
   * since, and the block to continue from may be older.
   */
  takeAnswersFromLog(sinceMs: number): void {
    for (const token of this.takingTokens()) {
      if (!token.hasCode) continue;
      token.hasCode = undefined;
      token.sweptAt = -1;
    }
    this.wallets.takeFromLog(sinceMs);
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

  /** Moves these pairs behind all others that were put off. */
  waitAgain(pairs: readonly WatchedPair[]): void {
    for (const pair of pairs) {
      const sinceMs = this.putOff.get(pair);
      if (sinceMs === undefined || !this.putOff.delete(pair)) continue;
      this.putOff.set(pair, sinceMs);
    }
  }

  /** True if so many makers sell the token that none of them pays for its reading. */
  isShared(token: Address): boolean {
    return (this.#sellers.get(token) ?? 0) >= SHARING_MAKERS;
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
    this.wallets.drop(maker, order);
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

function hasSameFunds(a: ObservedFunds | undefined, b: ObservedFunds): boolean {
  return a?.balance === b.balance && a.allowance === b.allowance && a.unread === b.unread;
}
