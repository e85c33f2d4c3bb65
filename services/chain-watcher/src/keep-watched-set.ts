import type { BlockRef, Hex, MakerEvent, OrderSubmitted } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-evm';
import { boundedSeconds } from '@makerbook/domain';
import { KeyIndex, readWords } from './index-keys.js';
import { type PairFunding, Pairs } from './keep-pairs.js';
import { ExpiryQueue } from './queue-expiries.js';
import { RemovedHashes } from './remember-removed.js';

/** An open order as it is put into the set without its fact: what the feeds of the projector say of it. */
export type SeededOrder = Pick<OrderSubmitted, 'maker' | 'orderHash' | 'order' | 'acceptedAtMs'>;

/**
 * Who is watched, from the log alone: the pairs (maker, making token), makers and hashes with open orders. The same
 * rules as the fold of the domain, held equal to it by a test, in columns instead of objects: a pair and its order
 * cost some hundred bytes, and the facts of a partition only ever touch their own makers.
 * Pairs, makers and orders are named by slots, small integers that are used again.
 */
export class WatchedSet {
  private readonly makers = new KeyIndex(5);
  private readonly makerNonce: (bigint | undefined)[] = [];
  private readonly makerNonceIsWatched: boolean[] = [];
  private readonly makerOpenOrders: number[] = [];
  private readonly makerFirstOrder: number[] = [];

  private readonly pairs = new Pairs();
  /** Pairs that an order joined whose funds were taken for known, though a hash may have been forgotten. */
  private readonly joined = new Set<number>();

  private readonly orders = new KeyIndex(8);
  private readonly removed: RemovedHashes;
  private readonly orderIsOpen: boolean[] = [];
  private readonly orderPair: number[] = [];
  private readonly orderNonce: bigint[] = [];
  private readonly orderAmount: bigint[] = [];
  private readonly orderAcceptedAtMs: number[] = [];
  private readonly orderNext: number[] = [];
  private readonly orderPrevious: number[] = [];
  private readonly orderPlaceInQueue: number[] = [];

  private readonly partitions: Partition[];
  private readonly key = new Uint32Array(8);
  private watchedMakers = 0;

  /** @param removedHashesMax how many hashes of removed orders are remembered */
  constructor(partitions: number, removedHashesMax: number = REMOVED_HASHES_MAX) {
    this.removed = new RemovedHashes(removedHashesMax);
    this.partitions = Array.from({ length: partitions }, () => ({
      lastBlock: undefined,
      clockSeconds: 0,
      expiries: new ExpiryQueue(this.orderPlaceInQueue),
      ahead: new Set(),
      sinceBlock: [],
      sinceBlockBefore: [],
    }));
  }

  /** Applies the next fact of the partition. Returns the slot of an order that is open by it, else -1. */
  apply(partition: number, fact: MakerEvent): number {
    const home = this.home(partition);
    switch (fact.type) {
      case 'OrderSubmitted':
        return this.openOrder(home, fact);
      case 'OrderCancelled':
      case 'OrderCancelledOnChain':
        this.remove(home, this.findOrder(fact.orderHash));
        return -1;
      case 'OrderFilled': {
        const order = this.findOrder(fact.orderHash);
        if (order >= 0 && BigInt(fact.filledMakingAmount) >= at(this.orderAmount, order)) this.remove(home, order);
        return -1;
      }
      case 'NonceChanged':
        this.observeNonce(home, fact.maker, BigInt(fact.nonce));
        return -1;
      case 'BalanceChanged':
        this.pairs.observeBalance(this.findPair(fact.token, fact.maker), BigInt(fact.balance), fact.block);
        return -1;
      case 'AllowanceChanged':
        this.pairs.observeAllowance(this.findPair(fact.token, fact.maker), BigInt(fact.allowance), fact.block);
        return -1;
      case 'BlockProcessed':
        this.advanceClock(home, fact.block);
        return -1;
      case 'MakerAdmitted':
      case 'MakerSuspended':
      case 'MakerRemoved':
        return -1;
      default:
        return never(fact);
    }
  }

  /**
   * Puts in an order that is open, where its fact is not read. What was removed before is not known then, so joined pairs
   * are to be confirmed from now on.
   * @param isJudged it is ACTIVE or INACTIVE: the fold of the domain knows the pair's funds, and the maker's nonce is the
   * order's
   */
  seed(partition: number, order: SeededOrder, isJudged: boolean): void {
    this.removed.noteUnknown();
    const home = this.home(partition);
    const slot = this.insertOrder(home, order);
    if (slot < 0 || !isJudged) return;
    this.pairs.hold(this.pairOf(slot));
    this.observeNonce(home, order.maker, BigInt(order.order.nonce));
  }

  /** From now on a hash may come that was removed before, unknown to this set. */
  noteUnknownRemovals(): void {
    this.removed.noteUnknown();
  }

  /** Slots of pairs that are watched and to be confirmed, at most so many; they are not given again. */
  takeJoined(countMax: number): number[] {
    const taken: number[] = [];
    for (const pair of this.joined) {
      if (taken.length === countMax) break;
      this.joined.delete(pair);
      taken.push(pair);
    }
    return taken;
  }

  /** How much there is, for metrics. `hashes` counts the removed orders that are remembered, too. */
  sizes(): { readonly pairs: number; readonly makers: number; readonly orders: number; readonly hashes: number } {
    return {
      pairs: this.pairs.size,
      makers: this.watchedMakers,
      orders: this.orders.size,
      hashes: this.orders.size + this.removed.size,
    };
  }

  /** The newest block whose `BlockProcessed` stands in the partition. */
  lastBlock(partition: number): BlockRef | undefined {
    return this.home(partition).lastBlock;
  }

  /**
   * Slots of orders of which the log does not say for certain that their state on the chain was read: those that came
   * after the last `BlockProcessed` but one. (Before a block is published, every order that stands before the
   * `BlockProcessed` of the block before it has been read.)
   */
  ordersNotCertainlyRead(): number[] {
    const recent = this.partitions.flatMap(({ sinceBlock, sinceBlockBefore }) => [...sinceBlockBefore, ...sinceBlock]);
    return recent.filter((order) => this.isOpen(order));
  }

  /** Slots of open orders whose pair or maker was never read, as far as the log says. Looks at every order. */
  ordersOfUnreadFunding(): number[] {
    return this.openOrders().filter((order) => {
      const pair = this.pairOf(order);
      return !this.isFunded(pair) || !this.isNonceWatched(this.makerOf(pair));
    });
  }

  /** Slots of all open orders. */
  openOrders(): number[] {
    const open: number[] = [];
    for (let order = 0; order < this.orders.slotsEnd; order += 1) if (this.isOpen(order)) open.push(order);
    return open;
  }

  /** The slot of a watched pair, or -1. Takes hex of any case: `token` an address, `account` a topic or an address. */
  findPair(token: Hex, account: Hex): number {
    const maker = this.makers.find(readWords(account, account.length - 40, 5, this.key));
    return maker < 0 ? -1 : this.pairs.find(maker, token);
  }

  /** Whether any maker sells this token: most logs of a block are dismissed by it. */
  isTokenWatched(token: Hex): boolean {
    return this.pairs.isTokenWatched(token);
  }

  /** The slot of a maker with open orders, or -1. */
  findWatchedMaker(account: Hex): number {
    const maker = this.makers.find(readWords(account, account.length - 40, 5, this.key));
    return maker >= 0 && at(this.makerOpenOrders, maker) > 0 ? maker : -1;
  }

  /** The slot of an open order, or -1. */
  findOpenOrder(orderHash: Hex): number {
    const order = this.findOrder(orderHash);
    return this.isOpen(order) ? order : -1;
  }

  isOpen(order: number): boolean {
    return this.orderIsOpen[order] === true;
  }

  pairOf(order: number): number {
    return at(this.orderPair, order);
  }

  makerOf(pair: number): number {
    return this.pairs.makerOf(pair);
  }

  makerAddress(maker: number): Address {
    return this.makers.hexAt(maker);
  }

  tokenAddress(pair: number): Address {
    return this.pairs.tokenAddress(pair);
  }

  orderHash(order: number): Hex {
    return this.orders.hexAt(order);
  }

  funding(pair: number): PairFunding {
    return this.pairs.funding(pair);
  }

  /** Whether the fold of the domain knows the pair's funds. */
  isFunded(pair: number): boolean {
    return this.pairs.isFunded(pair);
  }

  isPairWatched(pair: number): boolean {
    return this.pairs.isWatched(pair);
  }

  isNonceWatched(maker: number): boolean {
    return this.makerNonceIsWatched[maker] === true;
  }

  /** The highest nonce that the log says the maker had. */
  nonceOf(maker: number): bigint | undefined {
    return this.makerNonce[maker];
  }

  isMakerWatched(maker: number): boolean {
    return (this.makerOpenOrders[maker] ?? 0) > 0;
  }

  /** Slots of pairs and makers are below this; ask `isPairWatched` and `isMakerWatched` of each. */
  get slotsEnd(): number {
    return Math.max(this.pairs.slotsEnd, this.makers.slotsEnd);
  }

  private openOrder(home: Partition, fact: OrderSubmitted): number {
    const maker = this.makerSlot(fact.maker);
    const pair = this.pairs.find(maker, fact.order.making.token);
    const isKnown = (pair >= 0 && this.isFunded(pair)) || this.isNonceWatched(maker);
    const slot = this.insertOrder(home, fact);
    if (slot < 0) return -1;
    if (isKnown && this.removed.mayHaveForgotten) this.joined.add(this.pairOf(slot));
    home.sinceBlock.push(slot);
    return slot;
  }

  /** Returns the slot of an order that is open now and was not before, else -1. */
  private insertOrder(home: Partition, { maker, orderHash, order, acceptedAtMs }: SeededOrder): number {
    if (this.findOrder(orderHash) >= 0 || this.removed.has(readWords(orderHash, 2, 8, this.key))) return -1;
    const makerSlot = this.makerSlot(maker);
    const known = this.makerNonce[makerSlot];
    const nonce = BigInt(order.nonce);
    const expiresAtSeconds = boundedSeconds(BigInt(order.expiresAt));
    if (home.clockSeconds >= expiresAtSeconds) return -1;

    const slot = this.orders.findOrInsert(readWords(orderHash, 2, 8, this.key));
    this.orderIsOpen[slot] = true;
    this.orderPair[slot] = this.pairs.add(makerSlot, order.making.token);
    // One object for all orders with the maker's nonce.
    this.orderNonce[slot] = known === nonce ? known : nonce;
    this.orderAmount[slot] = BigInt(order.making.amount);
    this.orderAcceptedAtMs[slot] = acceptedAtMs;
    this.link(makerSlot, slot);
    home.expiries.push(slot, expiresAtSeconds);
    if (known === undefined || nonce > known) home.ahead.add(slot);
    if (known === undefined || nonce >= known) return slot;
    this.remove(home, slot);
    return -1;
  }

  private observeNonce(home: Partition, account: Address, nonce: bigint): void {
    const maker = this.makerSlot(account);
    const known = this.makerNonce[maker];
    const isNews = known === undefined || nonce > known;
    if (isNews) this.makerNonce[maker] = nonce;
    if (!this.isMakerWatched(maker) || (this.isNonceWatched(maker) && !isNews)) return;
    this.makerNonceIsWatched[maker] = true;
    const current = isNews ? nonce : known;
    for (let order = at(this.makerFirstOrder, maker), next = -1; order >= 0; order = next) {
      next = at(this.orderNext, order);
      if (at(this.orderNonce, order) < current) this.remove(home, order);
      else if (at(this.orderNonce, order) === current) home.ahead.delete(order);
    }
  }

  private advanceClock(home: Partition, block: BlockRef): void {
    if (home.lastBlock === undefined || block.number > home.lastBlock.number) {
      home.lastBlock = block;
      home.sinceBlockBefore = home.sinceBlock;
      home.sinceBlock = [];
    }
    home.clockSeconds = Math.max(home.clockSeconds, block.timestamp);
    for (let order = home.expiries.popDue(home.clockSeconds); order !== undefined; ) {
      // Whoever submitted the hash again would find it expired: it need not be remembered.
      this.drop(home, order);
      order = home.expiries.popDue(home.clockSeconds);
    }
    for (const order of home.ahead) {
      const maker = this.makerOf(this.pairOf(order));
      const isDue = home.clockSeconds * 1000 >= at(this.orderAcceptedAtMs, order);
      if (isDue && this.isNonceWatched(maker)) this.remove(home, order);
    }
  }

  /** Removes an open order before it expires; does nothing for one that is not open. */
  private remove(home: Partition, order: number): void {
    if (!this.isOpen(order)) return;
    home.expiries.remove(order);
    this.removed.add(readWords(this.orders.hexAt(order), 2, 8, this.key));
    this.drop(home, order);
  }

  private drop(home: Partition, order: number): void {
    const pair = this.pairOf(order);
    this.orderIsOpen[order] = false;
    this.orderNonce[order] = 0n;
    this.orderAmount[order] = 0n;
    this.orders.delete(order);
    home.ahead.delete(order);
    this.unlink(this.makerOf(pair), order);
    if (this.pairs.release(pair)) this.joined.delete(pair);
  }

  private link(maker: number, order: number): void {
    const first = at(this.makerFirstOrder, maker);
    this.orderPrevious[order] = -1;
    this.orderNext[order] = first;
    if (first >= 0) this.orderPrevious[first] = order;
    this.makerFirstOrder[maker] = order;
    const before = at(this.makerOpenOrders, maker);
    this.makerOpenOrders[maker] = before + 1;
    if (before === 0) this.watchedMakers += 1;
  }

  private unlink(maker: number, order: number): void {
    const previous = at(this.orderPrevious, order);
    const next = at(this.orderNext, order);
    if (previous >= 0) this.orderNext[previous] = next;
    else this.makerFirstOrder[maker] = next;
    if (next >= 0) this.orderPrevious[next] = previous;
    const left = at(this.makerOpenOrders, maker) - 1;
    this.makerOpenOrders[maker] = left;
    if (left > 0) return;
    this.watchedMakers -= 1;
    this.makerNonceIsWatched[maker] = false;
  }

  /** Makers stay known for ever: their nonce decides about orders that come later. */
  private makerSlot(account: Address): number {
    const maker = this.makers.findOrInsert(readWords(account, 2, 5, this.key));
    if (maker === this.makerOpenOrders.length) {
      this.makerOpenOrders.push(0);
      this.makerFirstOrder.push(-1);
      this.makerNonce.push(undefined);
      this.makerNonceIsWatched.push(false);
    }
    return maker;
  }

  private findOrder(orderHash: Hex): number {
    return this.orders.find(readWords(orderHash, 2, 8, this.key));
  }

  private home(partition: number): Partition {
    const home = this.partitions[partition];
    if (home === undefined) throw new Error(`partition ${partition} is not one of ${this.partitions.length}`);
    return home;
  }
}

interface Partition {
  lastBlock: BlockRef | undefined;
  clockSeconds: number;
  readonly expiries: ExpiryQueue;
  /** Open orders whose nonce is above the known one, or whose maker's nonce is not known. */
  readonly ahead: Set<number>;
  sinceBlock: number[];
  sinceBlockBefore: number[];
}

/** Some 6 MB. */
const REMOVED_HASHES_MAX = 100_000;

function at<T>(column: readonly T[], slot: number): T {
  const value = column[slot];
  if (value === undefined) throw new Error(`no slot ${slot}`);
  return value;
}

function never(fact: never): never {
  throw new Error(`a fact that the watched set does not know: ${JSON.stringify(fact)}`);
}
