import type { BlockRef, Hex, MakerEvent, OrderSubmitted } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-evm';
import { boundedSeconds } from '@makerbook/domain';
import { KeyIndex, readWords } from './index-keys.js';
import { ExpiryQueue } from './queue-expiries.js';

/** What the log says of a watched pair (maker, making token): undefined until it was read for the first time. */
export interface PairFunding {
  readonly balance: bigint | undefined;
  readonly allowance: bigint | undefined;
}

/**
 * Who is watched, from the log alone: the pairs (maker, making token), makers and hashes with open orders. The same
 * rules as the fold of the domain, held equal to it by a test, in columns instead of objects: a pair and its order
 * cost some hundred bytes, and the facts of a partition only ever touch their own makers.
 * Pairs, makers and orders are named by slots, small integers that are used again.
 */
export class WatchedSet {
  private readonly tokens = new KeyIndex(5);
  private readonly tokenPairs: number[] = [];

  private readonly makers = new KeyIndex(5);
  private readonly makerNonce: (bigint | undefined)[] = [];
  private readonly makerNonceIsWatched: boolean[] = [];
  private readonly makerOpenOrders: number[] = [];
  private readonly makerFirstOrder: number[] = [];

  /** By maker slot and token slot. */
  private readonly pairs = new KeyIndex(2);
  private readonly pairOpenOrders: number[] = [];
  private readonly pairBalance: (bigint | undefined)[] = [];
  private readonly pairAllowance: (bigint | undefined)[] = [];
  private readonly pairBalanceBlock: number[] = [];
  private readonly pairAllowanceBlock: number[] = [];

  /** Open orders, and removed ones until they expire: a hash is never accepted twice. */
  private readonly orders = new KeyIndex(8);
  private readonly orderIsOpen: boolean[] = [];
  private readonly orderPair: number[] = [];
  private readonly orderNonce: bigint[] = [];
  private readonly orderAmount: bigint[] = [];
  private readonly orderAcceptedAtMs: number[] = [];
  private readonly orderExpiresAtSeconds: number[] = [];
  private readonly orderNext: number[] = [];
  private readonly orderPrevious: number[] = [];

  private readonly partitions: Partition[];
  private readonly key = new Uint32Array(8);
  private open = 0;
  private watchedMakers = 0;

  constructor(partitions: number) {
    this.partitions = Array.from({ length: partitions }, () => ({
      lastBlock: undefined,
      clockSeconds: 0,
      expiries: new ExpiryQueue(),
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
        this.observe(fact, BigInt(fact.balance), this.pairBalance, this.pairBalanceBlock);
        return -1;
      case 'AllowanceChanged':
        this.observe(fact, BigInt(fact.allowance), this.pairAllowance, this.pairAllowanceBlock);
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

  /** How much there is, for metrics. `hashes` counts removed orders too, until they expire. */
  sizes(): { readonly pairs: number; readonly makers: number; readonly orders: number; readonly hashes: number } {
    return { pairs: this.pairs.size, makers: this.watchedMakers, orders: this.open, hashes: this.orders.size };
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
      const { balance, allowance } = this.funding(pair);
      return balance === undefined || allowance === undefined || !this.isNonceWatched(this.makerOf(pair));
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
    const tokenSlot = this.tokens.find(readWords(token, 2, 5, this.key));
    if (tokenSlot < 0) return -1;
    const maker = this.makers.find(readWords(account, account.length - 40, 5, this.key));
    return maker < 0 ? -1 : this.pairs.find(this.pairKey(maker, tokenSlot));
  }

  /** Whether any maker sells this token: most logs of a block are dismissed by it. */
  isTokenWatched(token: Hex): boolean {
    return this.tokens.find(readWords(token, 2, 5, this.key)) >= 0;
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
    return this.pairs.wordAt(pair, 0);
  }

  makerAddress(maker: number): Address {
    return this.makers.hexAt(maker);
  }

  tokenAddress(pair: number): Address {
    return this.tokens.hexAt(this.pairs.wordAt(pair, 1));
  }

  orderHash(order: number): Hex {
    return this.orders.hexAt(order);
  }

  funding(pair: number): PairFunding {
    return { balance: this.pairBalance[pair], allowance: this.pairAllowance[pair] };
  }

  isPairWatched(pair: number): boolean {
    return (this.pairOpenOrders[pair] ?? 0) > 0;
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

  private openOrder(home: Partition, { maker, orderHash, order, acceptedAtMs }: OrderSubmitted): number {
    if (this.findOrder(orderHash) >= 0) return -1;
    const makerSlot = this.makerSlot(maker);
    const known = this.makerNonce[makerSlot];
    const nonce = BigInt(order.nonce);
    const expiresAtSeconds = boundedSeconds(BigInt(order.expiresAt));
    if (home.clockSeconds >= expiresAtSeconds) return -1;

    const slot = this.orders.findOrInsert(readWords(orderHash, 2, 8, this.key));
    this.orderIsOpen[slot] = true;
    this.orderPair[slot] = this.addToPair(makerSlot, order.making.token);
    // One object for all orders with the maker's nonce.
    this.orderNonce[slot] = known === nonce ? known : nonce;
    this.orderAmount[slot] = BigInt(order.making.amount);
    this.orderAcceptedAtMs[slot] = acceptedAtMs;
    this.orderExpiresAtSeconds[slot] = expiresAtSeconds;
    this.link(makerSlot, slot);
    this.open += 1;
    home.expiries.push(slot, expiresAtSeconds);
    if (known === undefined || nonce > known) home.ahead.add(slot);
    if (known !== undefined && nonce < known) {
      this.remove(home, slot);
      return -1;
    }
    home.sinceBlock.push(slot);
    return slot;
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

  private observe(
    { maker, token, block }: { maker: Address; token: Address; block: BlockRef },
    value: bigint,
    values: (bigint | undefined)[],
    blocks: number[],
  ): void {
    const pair = this.findPair(token, maker);
    if (pair < 0 || (values[pair] !== undefined && at(blocks, pair) > block.number)) return;
    values[pair] = value;
    blocks[pair] = block.number;
  }

  private advanceClock(home: Partition, block: BlockRef): void {
    if (home.lastBlock === undefined || block.number > home.lastBlock.number) {
      home.lastBlock = block;
      home.sinceBlockBefore = home.sinceBlock;
      home.sinceBlock = [];
    }
    home.clockSeconds = Math.max(home.clockSeconds, block.timestamp);
    for (let order = home.expiries.popDue(home.clockSeconds); order !== undefined; ) {
      this.remove(home, order);
      // Whoever submitted the hash again would find it expired: it need not be remembered any longer.
      this.orders.delete(order);
      order = home.expiries.popDue(home.clockSeconds);
    }
    for (const order of home.ahead) {
      const maker = this.makerOf(this.pairOf(order));
      const isDue = home.clockSeconds * 1000 >= at(this.orderAcceptedAtMs, order);
      if (isDue && this.isNonceWatched(maker)) this.remove(home, order);
    }
  }

  /** Removes an open order; does nothing for one that is not. Its hash stays known until it expires. */
  private remove(home: Partition, order: number): void {
    if (!this.isOpen(order)) return;
    const pair = this.pairOf(order);
    const maker = this.makerOf(pair);
    this.orderIsOpen[order] = false;
    this.orderNonce[order] = 0n;
    this.orderAmount[order] = 0n;
    this.open -= 1;
    home.ahead.delete(order);
    this.unlink(maker, order);
    this.removeFromPair(pair);
  }

  private addToPair(maker: number, tokenAddress: Address): number {
    const token = this.tokens.findOrInsert(readWords(tokenAddress, 2, 5, this.key));
    const pair = this.pairs.findOrInsert(this.pairKey(maker, token));
    const before = this.pairOpenOrders[pair] ?? 0;
    this.pairOpenOrders[pair] = before + 1;
    if (before === 0) {
      this.tokenPairs[token] = (this.tokenPairs[token] ?? 0) + 1;
      this.pairBalance[pair] = undefined;
      this.pairAllowance[pair] = undefined;
      this.pairBalanceBlock[pair] = 0;
      this.pairAllowanceBlock[pair] = 0;
    }
    return pair;
  }

  private removeFromPair(pair: number): void {
    const left = at(this.pairOpenOrders, pair) - 1;
    this.pairOpenOrders[pair] = left;
    if (left > 0) return;
    const token = this.pairs.wordAt(pair, 1);
    this.pairBalance[pair] = undefined;
    this.pairAllowance[pair] = undefined;
    this.pairs.delete(pair);
    const pairsLeft = at(this.tokenPairs, token) - 1;
    this.tokenPairs[token] = pairsLeft;
    if (pairsLeft === 0) this.tokens.delete(token);
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

  private pairKey(maker: number, token: number): Uint32Array {
    this.key[0] = maker;
    this.key[1] = token;
    return this.key;
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

function at<T>(column: readonly T[], slot: number): T {
  const value = column[slot];
  if (value === undefined) throw new Error(`no slot ${slot}`);
  return value;
}

function never(fact: never): never {
  throw new Error(`a fact that the watched set does not know: ${JSON.stringify(fact)}`);
}
