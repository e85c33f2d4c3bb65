import { bloomHolds } from '@makerbook/chain';
import type { ObservedOrder } from '@makerbook/contracts-events';
import type { Hex, MonotonicMs } from '@makerbook/contracts-primitives';
import type { AskedOrder, UnreadOrder, WatchedMaker } from './watched-maker.js';

/** Tracks which signatures the makers' contracts accept (EIP-1271), and which to ask about. Slots name the orders. */
export class WalletAnswers {
  readonly #unread: Map<number, UnreadOrder>;
  /** Makers with an order that no key has signed. */
  readonly #wallets = new Set<WatchedMaker>();
  /** The wallets that have to be asked. The one that has waited longest comes first. */
  readonly #unasked = new Set<WatchedMaker>();

  /** @param unread the orders to read; a wallet's order is added once the wallet has answered */
  constructor(unread: Map<number, UnreadOrder>) {
    this.#unread = unread;
  }

  /** @param unread undefined if the log has a reading of the order: then its wallet has accepted the signature */
  add(maker: WatchedMaker, order: number, signature: Hex, unread: UnreadOrder | undefined): void {
    const isAccepted = unread === undefined ? true : undefined;
    maker.walletOrders.set(order, { signature, isAccepted, told: isAccepted });
    this.#wallets.add(maker);
    if (unread !== undefined) this.#ask(maker, order, unread);
  }

  drop(maker: WatchedMaker, order: number): void {
    maker.walletOrders.delete(order);
    this.#endAsking(maker, order);
    if (maker.walletOrders.size === 0) this.#wallets.delete(maker);
  }

  /** Notes a reading that counts and does not say what the wallet accepts from its block on. */
  noteUnread(maker: WatchedMaker, block: number, sinceMs: number): void {
    for (const own of maker.walletOrders.values()) own.told = undefined;
    if (block > maker.walletChangedAt) this.forget(maker, block, sinceMs);
  }

  /** Has the wallet asked about all orders before they are read, because no earlier reading counts. */
  askAgain(maker: WatchedMaker, sinceMs: number): void {
    for (const own of maker.walletOrders.values()) own.told = undefined;
    this.forget(maker, maker.walletChangedAt, sinceMs);
  }

  /** Notes a reading that counts and names the order. @returns whether the order is read now */
  noteObserved(maker: WatchedMaker, order: number, { refused, noCode }: ObservedOrder, block: number): boolean {
    const own = maker.walletOrders.get(order);
    if (own === undefined) return true;
    own.told = noCode ? undefined : !refused;
    if (block < maker.walletChangedAt) return false;
    if (own.told !== undefined && own.isAccepted === undefined) {
      own.isAccepted = own.told;
      this.#endAsking(maker, order);
    }
    return true;
  }

  /** Drops answers that are not in the log, because another watcher may have published since. */
  takeFromLog(sinceMs: number): void {
    for (const maker of this.#wallets) {
      maker.walletChangedAt = -1;
      for (const [order, own] of maker.walletOrders) {
        own.isAccepted = own.told;
        if (own.told !== undefined) this.#endAsking(maker, order);
        else if (!maker.unasked.has(order))
          this.#ask(maker, order, this.#unread.get(order) ?? { sinceMs, trace: undefined });
      }
    }
  }

  /** Has a wallet asked about all of its orders, because it may judge signatures differently from this block on. */
  forget(maker: WatchedMaker, block: number, sinceMs: number): void {
    maker.walletChangedAt = Math.max(block, maker.walletChangedAt);
    for (const [order, own] of maker.walletOrders) {
      own.isAccepted = undefined;
      this.#ask(maker, order, this.#unread.get(order) ?? maker.unasked.get(order) ?? { sinceMs, trace: undefined });
    }
  }

  /**
   * Notes a wallet's answer at a block, unless the wallet changed since or the order is gone. Has the order read if the
   * answer is news.
   */
  note({ maker, order, own }: AskedOrder, isAccepted: boolean, block: number, nowMs: MonotonicMs): void {
    if (maker.walletOrders.get(order) !== own || block < maker.walletChangedAt) return;
    const isNews = own.told === !isAccepted && !this.#unread.has(order);
    const unread = maker.unasked.get(order) ?? (isNews ? { sinceMs: nowMs, trace: undefined } : undefined);
    own.isAccepted = isAccepted;
    this.#endAsking(maker, order);
    if (unread !== undefined) this.#unread.set(order, unread);
  }

  /** Wallets that may have a log of their own in a block. */
  withLogsIn(logsBloom: Hex | undefined): WatchedMaker[] {
    return [...this.#wallets].filter(({ address }) => logsBloom === undefined || bloomHolds(logsBloom, address));
  }

  /** Orders whose wallet has answered. */
  *answered(): Generator<AskedOrder> {
    for (const maker of this.#wallets) {
      for (const [order, own] of maker.walletOrders) if (own.isAccepted !== undefined) yield { maker, order, own };
    }
  }

  hasUnasked(): boolean {
    return this.#unasked.size > 0;
  }

  /** Takes some orders of the next wallet to ask. That wallet then moves behind all others. */
  takeUnasked(countMax: number): AskedOrder[] {
    const [maker] = this.#unasked;
    if (maker === undefined) return [];
    this.#unasked.delete(maker);
    this.#unasked.add(maker);
    const orders = [...maker.unasked.keys()].slice(0, countMax);
    return orders.flatMap((order) => {
      const own = maker.walletOrders.get(order);
      return own === undefined ? [] : { maker, order, own };
    });
  }

  /** How many orders wallets have to be asked about, and since when the oldest of them waits. */
  unasked(): { readonly orders: number; readonly sinceMs: number | undefined } {
    const waiting = [...this.#unasked].flatMap(({ unasked }) => [...unasked.values()].map(({ sinceMs }) => sinceMs));
    return {
      orders: waiting.length,
      sinceMs: waiting.length === 0 ? undefined : waiting.reduce((a, b) => Math.min(a, b)),
    };
  }

  #ask(maker: WatchedMaker, order: number, unread: UnreadOrder): void {
    this.#unread.delete(order);
    maker.unasked.set(order, unread);
    this.#unasked.add(maker);
  }

  #endAsking(maker: WatchedMaker, order: number): void {
    maker.unasked.delete(order);
    if (maker.unasked.size === 0) this.#unasked.delete(maker);
  }
}
