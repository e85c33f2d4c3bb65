import type { BlockRef, Hex } from '@makerbook/contracts-events';
import type { Address } from '@makerbook/contracts-evm';
import { KeyIndex, readWords } from './index-keys.js';

/** What the log says of a watched pair (maker, making token): undefined until it was read for the first time. */
export interface PairFunding {
  readonly balance: bigint | undefined;
  readonly allowance: bigint | undefined;
}

/** The watched pairs of a maker's slot and a making token, in columns by the pair's slot. */
export class Pairs {
  private readonly tokens = new KeyIndex(5);
  private readonly tokenPairs: number[] = [];

  /** By maker slot and token slot. */
  private readonly pairs = new KeyIndex(2);
  private readonly openOrders: number[] = [];
  private readonly isHeld: boolean[] = [];
  private readonly balance: (bigint | undefined)[] = [];
  private readonly allowance: (bigint | undefined)[] = [];
  private readonly balanceBlock: number[] = [];
  private readonly allowanceBlock: number[] = [];
  private readonly sinceBlock: number[] = [];
  private readonly key = new Uint32Array(5);

  get size(): number {
    return this.pairs.size;
  }

  get slotsEnd(): number {
    return this.pairs.slotsEnd;
  }

  find(maker: number, token: Hex): number {
    const tokenSlot = this.tokens.find(readWords(token, 2, 5, this.key));
    return tokenSlot < 0 ? -1 : this.pairs.find(this.pairKey(maker, tokenSlot));
  }

  isTokenWatched(token: Hex): boolean {
    return this.tokens.find(readWords(token, 2, 5, this.key)) >= 0;
  }

  isWatched(pair: number): boolean {
    return (this.openOrders[pair] ?? 0) > 0;
  }

  makerOf(pair: number): number {
    return this.pairs.wordAt(pair, 0);
  }

  tokenAddress(pair: number): Address {
    return this.tokens.hexAt(this.pairs.wordAt(pair, 1));
  }

  funding(pair: number): PairFunding {
    return { balance: this.balance[pair], allowance: this.allowance[pair] };
  }

  /**
   * Whether the fold of the domain knows the pair's funds as of a block since which no log was missed here, so that a new
   * order need not have them read. Another watcher may have read them before that: a log in between is missed by both.
   */
  isFunded(pair: number): boolean {
    if (this.isHeld[pair] === true) return true;
    if (this.balance[pair] === undefined || this.allowance[pair] === undefined) return false;
    return Math.min(this.balanceBlock[pair] ?? -1, this.allowanceBlock[pair] ?? -1) >= (this.sinceBlock[pair] ?? -1);
  }

  /** What was read of it before this block does not count any more. */
  missBlock(pair: number, blockNumber: number): void {
    this.isHeld[pair] = false;
    this.sinceBlock[pair] = Math.max(this.sinceBlock[pair] ?? -1, blockNumber);
  }

  /** The fold knows the pair's funds; what they are is not known here. */
  hold(pair: number): void {
    this.isHeld[pair] = true;
  }

  /**
   * One more open order. Returns the slot of its pair.
   * @param matchedBlock the newest block whose logs were matched without the pair, where this order is its first
   */
  add(maker: number, tokenAddress: Address, matchedBlock: number): number {
    const token = this.tokens.findOrInsert(readWords(tokenAddress, 2, 5, this.key));
    const pair = this.pairs.findOrInsert(this.pairKey(maker, token));
    const before = this.openOrders[pair] ?? 0;
    this.openOrders[pair] = before + 1;
    if (before === 0) {
      this.tokenPairs[token] = (this.tokenPairs[token] ?? 0) + 1;
      this.forget(pair);
      this.sinceBlock[pair] = matchedBlock;
    }
    return pair;
  }

  /** One open order less. Says whether it was the last one: then the pair is not watched any more. */
  release(pair: number): boolean {
    const left = (this.openOrders[pair] ?? 0) - 1;
    if (left < 0) throw new Error(`pair ${pair} has no open order`);
    this.openOrders[pair] = left;
    if (left > 0) return false;
    const token = this.pairs.wordAt(pair, 1);
    this.forget(pair);
    this.pairs.delete(pair);
    const pairsLeft = (this.tokenPairs[token] ?? 0) - 1;
    this.tokenPairs[token] = pairsLeft;
    if (pairsLeft === 0) this.tokens.delete(token);
    return true;
  }

  /**
   * @param processed the newest block that was processed: an older reading does not count
   * @returns whether another value is known now
   */
  observeBalance(pair: number, value: bigint, { number }: BlockRef, processed: number): boolean {
    return observe(pair, value, number, processed, this.balance, this.balanceBlock);
  }

  /** As `observeBalance`. */
  observeAllowance(pair: number, value: bigint, { number }: BlockRef, processed: number): boolean {
    return observe(pair, value, number, processed, this.allowance, this.allowanceBlock);
  }

  private forget(pair: number): void {
    this.isHeld[pair] = false;
    this.balance[pair] = undefined;
    this.allowance[pair] = undefined;
    this.balanceBlock[pair] = 0;
    this.allowanceBlock[pair] = 0;
  }

  private pairKey(maker: number, token: number): Uint32Array {
    this.key[0] = maker;
    this.key[1] = token;
    return this.key;
  }
}

/** An older block never overrules a newer one, nor the last processed one. Says whether another value is known now. */
function observe(
  pair: number,
  value: bigint,
  block: number,
  processed: number,
  values: (bigint | undefined)[],
  blocks: number[],
): boolean {
  const known = values[pair];
  if (pair < 0 || block < Math.max(processed, known === undefined ? 0 : (blocks[pair] ?? 0))) return false;
  values[pair] = value;
  blocks[pair] = block;
  return value !== known;
}
