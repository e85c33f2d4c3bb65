import type { Hex } from '@makerbook/contracts-events';
import { KeyIndex, readWords } from './index-keys.js';

/** What the watched set keeps of an open order. */
export interface KeptOrder {
  /** Slot of its pair. */
  readonly pair: number;
  readonly nonce: bigint;
  /** The making amount, filled or not. */
  readonly amount: bigint;
  readonly acceptedAtMs: number;
  /** Where its `OrderSubmitted` stands in its partition. */
  readonly offset: number;
}

/** Open orders in columns by their slot; those of one maker are linked with each other. */
export class Orders {
  private readonly orders = new KeyIndex(8);
  private readonly openOnes: boolean[] = [];
  private readonly pairs: number[] = [];
  private readonly nonces: bigint[] = [];
  private readonly amounts: bigint[] = [];
  private readonly acceptedAt: number[] = [];
  private readonly offsets: number[] = [];
  private readonly observedBlocks: number[] = [];
  private readonly next: number[] = [];
  private readonly previous: number[] = [];
  private readonly key = new Uint32Array(8);

  /** How many there are. */
  get size(): number {
    return this.orders.size;
  }

  /** The slot of an order, or -1. */
  find(orderHash: Hex): number {
    return this.orders.find(readWords(orderHash, 2, 8, this.key));
  }

  /** @param first the maker's open order that is linked first, or -1: this one comes before it */
  insert(orderHash: Hex, { pair, nonce, amount, acceptedAtMs, offset }: KeptOrder, first: number): number {
    const order = this.orders.findOrInsert(readWords(orderHash, 2, 8, this.key));
    this.openOnes[order] = true;
    this.pairs[order] = pair;
    this.nonces[order] = nonce;
    this.amounts[order] = amount;
    this.acceptedAt[order] = acceptedAtMs;
    this.offsets[order] = offset;
    this.observedBlocks[order] = UNOBSERVED;
    this.previous[order] = NONE;
    this.next[order] = first;
    if (first >= 0) this.previous[first] = order;
    return order;
  }

  /**
   * Its pair can still be asked for.
   * @param first the maker's open order that is linked first
   * @returns the one that is linked first from now on, or -1
   */
  delete(order: number, first: number): number {
    this.openOnes[order] = false;
    this.nonces[order] = 0n;
    this.amounts[order] = 0n;
    this.orders.delete(order);
    const previous = at(this.previous, order);
    const next = at(this.next, order);
    if (previous >= 0) this.next[previous] = next;
    if (next >= 0) this.previous[next] = previous;
    return previous >= 0 ? first : next;
  }

  /** The slots of a maker's open orders, newest first. */
  linkedFrom(first: number): number[] {
    const orders: number[] = [];
    for (let order = first; order >= 0; order = at(this.next, order)) orders.push(order);
    return orders;
  }

  isOpen(order: number): boolean {
    return this.openOnes[order] === true;
  }

  hash(order: number): Hex {
    return this.orders.hexAt(order);
  }

  pairOf(order: number): number {
    return at(this.pairs, order);
  }

  nonceOf(order: number): bigint {
    return at(this.nonces, order);
  }

  amountOf(order: number): bigint {
    return at(this.amounts, order);
  }

  acceptedAtMs(order: number): number {
    return at(this.acceptedAt, order);
  }

  offsetOf(order: number): number {
    return at(this.offsets, order);
  }

  /** The block at which the fold of the domain saw it on the chain, -1 where it is to be seen (anew). */
  observedBlock(order: number): number {
    return at(this.observedBlocks, order);
  }

  observe(order: number, blockNumber: number): void {
    this.observedBlocks[order] = blockNumber;
  }

  forgetObserved(order: number): void {
    this.observedBlocks[order] = UNOBSERVED;
  }
}

const NONE = -1;
const UNOBSERVED = -1;

function at<T>(column: readonly T[], slot: number): T {
  const value = column[slot];
  if (value === undefined) throw new Error(`no slot ${slot}`);
  return value;
}
