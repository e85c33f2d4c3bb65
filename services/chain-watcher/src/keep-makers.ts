import type { Hex } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-evm';
import { KeyIndex, readWords } from './index-keys.js';

/**
 * Makers in columns by their slot: how many orders they have open, and what the log says of their nonces. Makers stay
 * known for ever, as their nonce decides about orders that come later; watched are those with open orders.
 */
export class Makers {
  private readonly makers = new KeyIndex(5);
  private readonly openOrders: number[] = [];
  private readonly nonces: (bigint | undefined)[] = [];
  private readonly nonceIsWatched: boolean[] = [];
  private readonly nonceBlock: number[] = [];
  private readonly sinceBlock: number[] = [];
  private readonly firstOrders: number[] = [];
  private readonly key = new Uint32Array(5);
  private watched = 0;

  /** How many are watched. */
  get size(): number {
    return this.watched;
  }

  get slotsEnd(): number {
    return this.makers.slotsEnd;
  }

  /** The slot of a known maker, or -1. Takes hex of any case: a topic or an address. */
  find(account: Hex): number {
    return this.makers.find(readWords(account, account.length - 40, 5, this.key));
  }

  findOrInsert(account: Address): number {
    const maker = this.makers.findOrInsert(readWords(account, 2, 5, this.key));
    if (maker === this.openOrders.length) {
      this.openOrders.push(0);
      this.nonces.push(undefined);
      this.nonceIsWatched.push(false);
      this.nonceBlock.push(-1);
      this.sinceBlock.push(-1);
      this.firstOrders.push(NO_ORDER);
    }
    return maker;
  }

  address(maker: number): Address {
    return this.makers.hexAt(maker);
  }

  isWatched(maker: number): boolean {
    return (this.openOrders[maker] ?? 0) > 0;
  }

  /** Whether the fold of the domain takes the nonce for the chain's. */
  isNonceWatched(maker: number): boolean {
    return this.nonceIsWatched[maker] === true;
  }

  /** Whether it does so as of a block since which no log was missed here, see `Pairs.isFunded`. */
  isNonceRead(maker: number): boolean {
    return this.isNonceWatched(maker) && (this.nonceBlock[maker] ?? -1) >= (this.sinceBlock[maker] ?? -1);
  }

  /** What was read of its nonce before this block does not count any more. */
  missBlock(maker: number, blockNumber: number): void {
    this.sinceBlock[maker] = Math.max(this.sinceBlock[maker] ?? -1, blockNumber);
  }

  /** The fold of the domain does not take it for the chain's any more. */
  unwatchNonce(maker: number): void {
    this.nonceIsWatched[maker] = false;
  }

  /** The highest nonce that the log says the maker had. */
  nonceOf(maker: number): bigint | undefined {
    return this.nonces[maker];
  }

  /** The slot of the open order from which the others are linked, or -1. */
  firstOrder(maker: number): number {
    return this.firstOrders[maker] ?? NO_ORDER;
  }

  linkFirst(maker: number, order: number): void {
    this.firstOrders[maker] = order;
  }

  /**
   * One more open order.
   * @param matchedBlock the newest block whose logs were matched without the maker, where this order is its first
   */
  add(maker: number, matchedBlock: number): void {
    const before = this.openOrders[maker] ?? 0;
    this.openOrders[maker] = before + 1;
    if (before > 0) return;
    this.watched += 1;
    this.sinceBlock[maker] = matchedBlock;
    this.nonceBlock[maker] = -1;
  }

  /** One open order less. After the last one the maker is not watched any more. */
  release(maker: number): void {
    const left = (this.openOrders[maker] ?? 0) - 1;
    if (left < 0) throw new Error(`maker ${maker} has no open order`);
    this.openOrders[maker] = left;
    if (left > 0) return;
    this.watched -= 1;
    this.nonceIsWatched[maker] = false;
  }

  /**
   * Takes over what was read of a maker's nonce, which never goes down.
   * @param isCurrent whether a first reading counts
   * @returns the nonce by which the maker's open orders are to be judged anew; undefined where they need not be
   */
  observeNonce(maker: number, nonce: bigint, blockNumber: number, isCurrent: boolean): bigint | undefined {
    const known = this.nonces[maker];
    const isNews = known === undefined || nonce > known;
    if (isNews) this.nonces[maker] = nonce;
    if (!this.isWatched(maker)) return undefined;
    const wasWatched = this.isNonceWatched(maker);
    const isWatched = wasWatched || isCurrent;
    if (isWatched && (isNews || nonce === known)) {
      this.nonceBlock[maker] = Math.max(this.nonceBlock[maker] ?? -1, blockNumber);
    }
    this.nonceIsWatched[maker] = isWatched;
    if (isNews) return nonce;
    return isWatched === wasWatched ? undefined : known;
  }
}

const NO_ORDER = -1;
