import type { FillCapSet, MakerEvent, MakerObserved } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { Truth } from './judge-order.js';

interface Counted {
  readonly cap: FillCapSet;
  /** The first block whose fills count. */
  readonly from: number;
  /** Fills told since the cap was set, keyed by their places on the chain. */
  readonly fills: Map<string, { readonly place: number; readonly amount: bigint; readonly seconds: number }>;
}

/**
 * Tells until when caps withhold orders, from the log's fills and the times of their blocks. It remembers every fill,
 * knows each signed order, and never looks at the fold. Another judge compares the fills with the chain.
 */
export class CountedFills {
  readonly #chain: Truth['chain'];
  readonly #tokenOf: (orderHash: Hex) => Address | undefined;
  readonly #counted = new Map<string, Counted>();
  /** Each fill told so far, as its maker and its place on the chain. */
  readonly #told = new Set<string>();
  #block = -1;
  #seconds = 0;

  /** @param tokenOf returns the token that a signed order sells */
  constructor({ chain }: Pick<Truth, 'chain'>, tokenOf: (orderHash: Hex) => Address | undefined) {
    this.#chain = chain;
    this.#tokenOf = tokenOf;
  }

  take(fact: MakerEvent): void {
    switch (fact.type) {
      case 'FillCapSet': {
        const newest = this.#counted.get(keyOf(fact.maker, fact.token))?.cap.issuedAtMs ?? -1;
        const counted = { cap: fact, from: this.#block + 1, fills: new Map() };
        if (fact.issuedAtMs > newest) this.#counted.set(keyOf(fact.maker, fact.token), counted);
        return;
      }
      case 'MakerObserved':
        if (fact.block.number >= this.#block) this.#count(fact);
        return;
      case 'BlockProcessed':
        if (fact.block.number <= this.#block) return;
        this.#block = fact.block.number;
        this.#seconds = Math.max(this.#seconds, fact.block.timestamp);
        return;
      default:
        return;
    }
  }

  /** Returns the second until which the cap withholds orders, 0 if it withholds none. */
  until(maker: Address, token: Address): number {
    const { cap, fills } = this.#counted.get(keyOf(maker, token)) ?? {};
    if (cap === undefined || fills === undefined || cap.windowSeconds === 0 || cap.amount === '0x0') return 0;
    let [end, sum] = [0, 0n];
    for (const { amount, seconds } of [...fills.values()].sort((a, b) => a.place - b.place)) {
      if (seconds >= end) [end, sum] = [seconds + cap.windowSeconds, 0n];
      sum += amount;
    }
    return sum > BigInt(cap.amount) && this.#seconds < end ? end : 0;
  }

  #count({ maker, fills = [] }: MakerObserved): void {
    for (const { orderHash, makingAmount, blockNumber, logIndex } of fills) {
      const token = this.#tokenOf(orderHash);
      const counted = token && this.#counted.get(keyOf(maker, token));
      const place = blockNumber * LOGS_MAX + logIndex;
      const isRepeat = this.#told.has(`${maker} ${place}`);
      this.#told.add(`${maker} ${place}`);
      if (counted === undefined || blockNumber < counted.from) continue;
      // This fill was told before the cap was set, and is repeated behind a newer fill.
      if (isRepeat && [...counted.fills.values()].some((other) => other.place > place)) continue;
      const { timestamp: seconds } = this.#chain.at(blockNumber).header;
      counted.fills.set(`${place}`, { place, amount: BigInt(makingAmount), seconds });
    }
  }
}

/** More logs than a block has. */
const LOGS_MAX = 1_000_000;

const keyOf = (maker: Address, token: Address) => `${maker} ${token}`;
