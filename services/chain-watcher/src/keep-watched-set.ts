import type {
  AllowanceChanged,
  BalanceChanged,
  BlockProcessed,
  BlockRef,
  Hex,
  MakerEvent,
  OrderSubmitted,
} from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-evm';
import { boundedSeconds } from '@makerbook/domain';
import { readWords } from './index-keys.js';
import { Arrivals } from './keep-arrivals.js';
import { Makers } from './keep-makers.js';
import { type KeptOrder, Orders } from './keep-orders.js';
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
  private readonly makers = new Makers();
  private readonly pairs = new Pairs();
  private readonly orders = new Orders();
  private readonly removed: RemovedHashes;
  /** By order, see `ExpiryQueue`. */
  private readonly placesInQueue: number[] = [];

  /** Orders that joined after the last block was matched. */
  private readonly joinedSinceMatch = new Set<number>();
  /** Makers of whose last fact more was to follow: their orders are not judged by it yet. */
  private readonly unjudged = new Set<number>();
  /** Pairs of which a value came into the log that is older than the last block that was matched, and another one. */
  private readonly outdated = new Set<number>();

  private readonly partitions: Partition[];
  private readonly key = new Uint32Array(8);
  private matchedBlock = -1;

  /** @param removedHashesMax how many hashes of removed orders are remembered */
  constructor(partitions: number, removedHashesMax: number = REMOVED_HASHES_MAX) {
    this.removed = new RemovedHashes(removedHashesMax);
    this.partitions = Array.from({ length: partitions }, () => ({
      lastBlock: undefined,
      clockSeconds: 0,
      expiries: new ExpiryQueue(this.placesInQueue),
      ahead: new Set(),
      unread: new Map(),
      joined: new Set(),
      knownOffset: 0n,
      matchedOffset: 0n,
      arrivals: new Arrivals((order, offset) => this.isOpen(order) && this.orders.offsetOf(order) === offset),
    }));
  }

  /**
   * Applies the next fact of the partition. Returns the slot of an order that is to be read: it is open by the fact, or the
   * fact is what was read of it and comes too late to count. Else -1.
   */
  apply(partition: number, fact: MakerEvent, offset: bigint): number {
    const home = this.home(partition);
    switch (fact.type) {
      case 'OrderSubmitted':
        return this.openOrder(home, fact, offset);
      case 'OrderCancelled':
        this.remove(home, this.orders.find(fact.orderHash));
        // Where it stands before its order, that one is never open.
        this.removed.add(readWords(fact.orderHash, 2, 8, this.key));
        return -1;
      case 'OrderCancelledOnChain':
        this.remove(home, this.orders.find(fact.orderHash));
        return -1;
      case 'OrderFilled':
        this.noteGroup(fact);
        return this.observeFilled(home, this.orders.find(fact.orderHash), BigInt(fact.filledMakingAmount), fact.block);
      case 'NonceChanged':
        this.noteGroup(fact);
        this.observeNonce(home, fact.maker, BigInt(fact.nonce), {
          number: fact.block.number,
          isCurrent: isCurrent(home, fact.block),
        });
        return -1;
      case 'BalanceChanged':
      case 'AllowanceChanged':
        this.noteGroup(fact);
        this.observeFunds(home, fact);
        return -1;
      case 'BlockProcessed':
        this.processBlock(home, fact, offset);
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
   * @param offset where its fact stands, or a later one
   * @param isJudged it is ACTIVE or INACTIVE: it was read, the fold of the domain knows the pair's funds, and the maker's
   * nonce is the order's
   */
  seed(partition: number, order: SeededOrder, offset: bigint, isJudged: boolean): void {
    this.removed.noteUnknown();
    const home = this.home(partition);
    const slot = this.insertOrder(home, order, offset);
    if (slot < 0 || !isJudged) return;
    home.unread.delete(slot);
    this.orders.observe(slot, Math.max(0, this.matchedBlock));
    this.pairs.hold(this.pairOf(slot));
    const { maker, order: terms } = order;
    this.observeNonce(home, maker, BigInt(terms.nonce), { number: this.matchedBlock, isCurrent: true });
  }

  /** The logs of this block have been matched: what joins from now on missed them. */
  noteMatched(blockNumber: number): void {
    this.matchedBlock = blockNumber;
    this.joinedSinceMatch.clear();
    for (const home of this.partitions) home.matchedOffset = home.knownOffset;
  }

  /** The partition is read from this offset on: open orders that were submitted before it are put in by `seed`. */
  startAt(partition: number, offset: bigint): void {
    this.home(partition).knownOffset = offset;
  }

  /** The orders of the partition below this offset were known when the last block was matched. */
  matchedOffset(partition: number): bigint {
    return this.home(partition).matchedOffset;
  }

  /** From now on a hash may come that was removed before, unknown to this set. */
  noteUnknownRemovals(): void {
    this.removed.noteUnknown();
  }

  /**
   * Slots of watched pairs that an order joined whose funds were taken for known, though a hash may have been forgotten:
   * this set may then hold an order that the fold of the domain does not, and the fold may know nothing of the pair. They
   * are to be read once more. At most so many, each given once, and none of partitions that hold this block already.
   */
  takeJoined(blockNumber: number, countMax: number): number[] {
    const taken: number[] = [];
    for (const home of this.partitions) {
      if (processedBlock(home) >= blockNumber) continue;
      for (const pair of home.joined) {
        if (taken.length === countMax) return taken;
        home.joined.delete(pair);
        taken.push(pair);
      }
    }
    return taken;
  }

  /**
   * Slots of watched pairs of which the log holds another value since they were read at the last block that was matched, or
   * found untouched by it: another watcher read it before that block, and says so late. They are to be read once more. At
   * most so many, each given once.
   */
  takeOutdated(countMax: number): number[] {
    const taken: number[] = [];
    for (const pair of this.outdated) {
      if (taken.length === countMax) break;
      this.outdated.delete(pair);
      if (this.isPairWatched(pair)) taken.push(pair);
    }
    return taken;
  }

  /**
   * An order of each maker whose facts ended in one with more to follow, each given once: whoever wrote them has died in
   * between. Any fact that comes last has the maker's orders judged.
   */
  takeUnjudged(): number[] {
    const taken = [...this.unjudged]
      .map((maker) => this.makers.firstOrder(maker))
      .filter((order) => this.isOpen(order));
    this.unjudged.clear();
    return taken;
  }

  /** Whether the order joined after the last block was matched. */
  hasMissedMatch(order: number): boolean {
    return this.joinedSinceMatch.has(order);
  }

  /** How much there is, for metrics. `hashes` counts the removed orders that are remembered, too. */
  sizes(): { readonly pairs: number; readonly makers: number; readonly orders: number; readonly hashes: number } {
    return {
      pairs: this.pairs.size,
      makers: this.makers.size,
      orders: this.orders.size,
      hashes: this.orders.size + this.removed.size,
    };
  }

  /** The newest block whose `BlockProcessed` stands in the partition. */
  lastBlock(partition: number): BlockRef | undefined {
    return this.home(partition).lastBlock;
  }

  /** Slots of open orders that the log does not show to have been read together with their funds and nonce. */
  unreadOrders(): number[] {
    return this.partitions.flatMap(({ unread }) => [...unread.keys()]);
  }

  /**
   * Those of them that have waited for two blocks, or need not: their reading came too late in the log, or was lost with
   * another watcher. They are given again two blocks later, if need be.
   */
  takeOverdue(): number[] {
    const overdue: number[] = [];
    for (const home of this.partitions) {
      const processed = processedBlock(home);
      for (const [order, sinceBlock] of home.unread) {
        if (processed < sinceBlock + OVERDUE_BLOCKS) continue;
        home.unread.set(order, processed);
        overdue.push(order);
      }
    }
    return overdue;
  }

  /** The slot of a watched pair, or -1. Takes hex of any case: `token` an address, `account` a topic or an address. */
  findPair(token: Hex, account: Hex): number {
    const maker = this.makers.find(account);
    return maker < 0 ? -1 : this.pairs.find(maker, token);
  }

  /** Whether any maker sells this token: most logs of a block are dismissed by it. */
  isTokenWatched(token: Hex): boolean {
    return this.pairs.isTokenWatched(token);
  }

  /** The slot of a maker with open orders, or -1. */
  findWatchedMaker(account: Hex): number {
    const maker = this.makers.find(account);
    return this.makers.isWatched(maker) ? maker : -1;
  }

  /** The slot of an open order, or -1. */
  findOpenOrder(orderHash: Hex): number {
    return this.orders.find(orderHash);
  }

  /** Slots of the pairs of a watched maker, each once. */
  pairsOf(maker: number): Set<number> {
    return new Set(this.ordersOf(maker).map((order) => this.pairOf(order)));
  }

  /** Slots of the open orders of a watched maker. */
  ordersOf(maker: number): number[] {
    return this.orders.linkedFrom(this.makers.firstOrder(maker));
  }

  isOpen(order: number): boolean {
    return this.orders.isOpen(order);
  }

  pairOf(order: number): number {
    return this.orders.pairOf(order);
  }

  makerOf(pair: number): number {
    return this.pairs.makerOf(pair);
  }

  makerAddress(maker: number): Address {
    return this.makers.address(maker);
  }

  tokenAddress(pair: number): Address {
    return this.pairs.tokenAddress(pair);
  }

  orderHash(order: number): Hex {
    return this.orders.hash(order);
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

  /** Whether the fold of the domain takes the nonce for the chain's. */
  isNonceWatched(maker: number): boolean {
    return this.makers.isNonceWatched(maker);
  }

  /** Whether it does so as of a block since which no log was missed here, see `Pairs.isFunded`. */
  isNonceRead(maker: number): boolean {
    return this.makers.isNonceRead(maker);
  }

  /** The highest nonce that the log says the maker had. */
  nonceOf(maker: number): bigint | undefined {
    return this.makers.nonceOf(maker);
  }

  isMakerWatched(maker: number): boolean {
    return this.makers.isWatched(maker);
  }

  /** Slots of pairs and makers are below this; ask `isPairWatched` and `isMakerWatched` of each. */
  get slotsEnd(): number {
    return Math.max(this.pairs.slotsEnd, this.makers.slotsEnd);
  }

  private openOrder(home: Partition, fact: OrderSubmitted, offset: bigint): number {
    home.knownOffset = offset + 1n;
    const maker = this.makers.findOrInsert(fact.maker);
    const pair = this.pairs.find(maker, fact.order.making.token);
    const isKnown = (pair >= 0 && this.isFunded(pair)) || this.isNonceRead(maker);
    const slot = this.insertOrder(home, fact, offset);
    if (slot < 0) return -1;
    this.joinedSinceMatch.add(slot);
    home.arrivals.push(slot, Number(offset));
    if (isKnown && this.removed.mayHaveForgotten) home.joined.add(this.pairOf(slot));
    return slot;
  }

  /** Returns the slot of an order that is open now and was not before, else -1. */
  private insertOrder(home: Partition, { maker, orderHash, order, acceptedAtMs }: SeededOrder, offset: bigint): number {
    if (this.orders.find(orderHash) >= 0 || this.removed.has(readWords(orderHash, 2, 8, this.key))) return -1;
    const makerSlot = this.makers.findOrInsert(maker);
    const known = this.makers.nonceOf(makerSlot);
    const nonce = BigInt(order.nonce);
    const expiresAtSeconds = boundedSeconds(BigInt(order.expiresAt));
    if (home.clockSeconds >= expiresAtSeconds) return -1;

    const kept: KeptOrder = {
      pair: this.pairs.add(makerSlot, order.making.token, this.matchedBlock),
      // One object for all orders with the maker's nonce.
      nonce: known === nonce ? known : nonce,
      amount: BigInt(order.making.amount),
      acceptedAtMs,
      offset: Number(offset),
    };
    const slot = this.orders.insert(orderHash, kept, this.makers.firstOrder(makerSlot));
    this.makers.linkFirst(makerSlot, slot);
    this.makers.add(makerSlot, this.matchedBlock);
    home.expiries.push(slot, expiresAtSeconds);
    home.unread.set(slot, processedBlock(home));
    if (known === undefined || nonce > known) home.ahead.add(slot);
    if (known === undefined || nonce >= known) return slot;
    this.remove(home, slot);
    return -1;
  }

  private observeFilled(home: Partition, order: number, filled: bigint, block: BlockRef): number {
    if (order < 0) return -1;
    if (filled >= this.orders.amountOf(order)) {
      this.remove(home, order);
      return -1;
    }
    if (!isCurrent(home, block)) return this.missReading(home, order);
    const pair = this.pairOf(order);
    if (block.number > this.orders.observedBlock(order)) this.orders.observe(order, block.number);
    if (this.isFunded(pair) && this.isNonceRead(this.makerOf(pair))) home.unread.delete(order);
    return -1;
  }

  /** Read again it would come too late again, where this watcher has not got to the partition's block: then it waits for that. */
  private missReading(home: Partition, order: number): number {
    if (!home.unread.has(order)) return -1;
    if (this.matchedBlock >= processedBlock(home)) return order;
    readSoon(home, order);
    return -1;
  }

  private observeFunds(home: Partition, fact: BalanceChanged | AllowanceChanged): void {
    const pair = this.findPair(fact.token, fact.maker);
    const processed = processedBlock(home);
    const isOther =
      fact.type === 'BalanceChanged'
        ? this.pairs.observeBalance(pair, BigInt(fact.balance), fact.block, processed)
        : this.pairs.observeAllowance(pair, BigInt(fact.allowance), fact.block, processed);
    if (isOther && fact.block.number < this.matchedBlock) this.outdated.add(pair);
  }

  private observeNonce(
    home: Partition,
    account: Address,
    nonce: bigint,
    read: { readonly number: number; readonly isCurrent: boolean },
  ): void {
    const maker = this.makers.findOrInsert(account);
    const current = this.makers.observeNonce(maker, nonce, read.number, read.isCurrent);
    if (current === undefined) return;
    for (const order of this.ordersOf(maker)) {
      if (this.orders.nonceOf(order) < current) this.remove(home, order);
      else if (this.orders.nonceOf(order) === current) home.ahead.delete(order);
    }
  }

  private processBlock(home: Partition, { block, knownOffset }: BlockProcessed, offset: bigint): void {
    home.knownOffset = offset + 1n;
    const isFirst = block.number > processedBlock(home);
    if (isFirst) home.lastBlock = block;
    this.advanceClock(home, block, knownOffset);
    if (isFirst) this.missOrders(home, block, Number(knownOffset ?? home.knownOffset));
  }

  /**
   * Of younger orders the watcher that published the block did not know when it matched it: what another one read of them
   * before does not count any more. It reads them as soon as it knows them; should it be gone by then, they are overdue here.
   */
  private missOrders(home: Partition, block: BlockRef, knownOffset: number): void {
    const { number } = block;
    for (const order of home.arrivals.from(knownOffset)) {
      if (this.isKnown(order, block, knownOffset)) continue;
      this.orders.forgetObserved(order);
      if (!home.unread.has(order)) readSoon(home, order);
      // Nor does what was read of its pair and maker, unless the watcher of the block knew them by another order.
      const pair = this.pairOf(order);
      this.pairs.missBlock(pair, number);
      this.makers.missBlock(this.makerOf(pair), number);
    }
  }

  /** Whether what the block did to the order is in the log: its watcher knew the order, or another one read it since. */
  private isKnown(order: number, { number }: BlockRef, knownOffset: number): boolean {
    return this.orders.offsetOf(order) < knownOffset || this.orders.observedBlock(order) >= number;
  }

  /** Whether the maker's nonce was kept up to the block: by whoever has seen one of its orders, and did not miss it since. */
  private isNonceKept(maker: number, block: BlockRef, knownOffset: string | undefined): boolean {
    if (knownOffset === undefined) return true;
    return this.ordersOf(maker).some(
      (order) => this.orders.observedBlock(order) >= 0 && this.isKnown(order, block, Number(knownOffset)),
    );
  }

  private noteGroup({ maker, hasMore }: { readonly maker: Address; readonly hasMore?: true | undefined }): void {
    const slot = this.makers.find(maker);
    if (hasMore === undefined) this.unjudged.delete(slot);
    else if (slot >= 0) this.unjudged.add(slot);
  }

  private advanceClock(home: Partition, block: BlockRef, knownOffset: string | undefined): void {
    home.clockSeconds = Math.max(home.clockSeconds, block.timestamp);
    const ahead: { readonly order: number; readonly isNonceKept: boolean }[] = [];
    for (const order of home.ahead) {
      const maker = this.makerOf(this.pairOf(order));
      const isDue = home.clockSeconds * 1000 >= this.orders.acceptedAtMs(order);
      if (!isDue || !this.isNonceWatched(maker)) continue;
      ahead.push({ order, isNonceKept: this.isNonceKept(maker, block, knownOffset) });
    }
    for (let order = home.expiries.popDue(home.clockSeconds); order !== undefined; ) {
      // Whoever submitted the hash again would find it expired: it need not be remembered.
      this.drop(home, order);
      order = home.expiries.popDue(home.clockSeconds);
    }
    for (const { order, isNonceKept } of ahead) {
      if (!this.isOpen(order)) continue;
      if (isNonceKept) {
        this.remove(home, order);
        continue;
      }
      this.makers.unwatchNonce(this.makerOf(this.pairOf(order)));
      readSoon(home, order);
    }
  }

  /** Removes an open order before it expires; does nothing for one that is not open. */
  private remove(home: Partition, order: number): void {
    if (!this.isOpen(order)) return;
    home.expiries.remove(order);
    this.removed.add(readWords(this.orders.hash(order), 2, 8, this.key));
    this.drop(home, order);
  }

  private drop(home: Partition, order: number): void {
    const pair = this.pairOf(order);
    const maker = this.makerOf(pair);
    this.makers.linkFirst(maker, this.orders.delete(order, this.makers.firstOrder(maker)));
    this.makers.release(maker);
    home.ahead.delete(order);
    home.unread.delete(order);
    this.joinedSinceMatch.delete(order);
    if (!this.pairs.release(pair)) return;
    home.joined.delete(pair);
    this.outdated.delete(pair);
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
  /** Open orders that the log does not show to have been read, and the block that was processed before them. */
  readonly unread: Map<number, number>;
  /** See `takeJoined`. */
  readonly joined: Set<number>;
  /** The orders below this offset are known. It follows orders and blocks, so that it hangs on nobody's pace of reading others. */
  knownOffset: bigint;
  /** What it was when the last block was matched. */
  matchedOffset: bigint;
  /** Open orders by their offsets; not those that were put in from the book, which everybody knew. */
  readonly arrivals: Arrivals;
}

/** After so many blocks an order that is still unread is read again. */
const OVERDUE_BLOCKS = 2;

/** Some 6 MB. */
const REMOVED_HASHES_MAX = 100_000;

function processedBlock({ lastBlock }: Partition): number {
  return lastBlock?.number ?? -1;
}

/** Makes the order one that is overdue. */
function readSoon(home: Partition, order: number): void {
  home.unread.set(order, processedBlock(home) - OVERDUE_BLOCKS);
}

/** Whether a first reading at this block counts: one that is older than the last `BlockProcessed` comes too late. */
function isCurrent(home: Partition, block: BlockRef): boolean {
  return block.number >= processedBlock(home);
}

function never(fact: never): never {
  throw new Error(`a fact that the watched set does not know: ${JSON.stringify(fact)}`);
}
