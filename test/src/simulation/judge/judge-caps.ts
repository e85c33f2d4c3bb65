import { filledOf } from '@makerbook/chain';
import type { FillCapSet, MakerEvent, MakerObserved } from '@makerbook/contracts-events';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { valueAt } from '../chain/keep-chain.js';
import type { Truth } from './judge-order.js';

interface Counted {
  readonly cap: FillCapSet;
  /** All that was filled since the cap was set, and when it was read. */
  readonly fills: { readonly amount: bigint; readonly seconds: number }[];
}

/**
 * Until when orders are withheld by their makers' caps, by the messages of the log and what the contract says of each order at the
 * blocks that are read: it remembers every fill, and never looks at what the fold makes of it.
 */
export class CountedFills {
  readonly #truth: Pick<Truth, 'chain' | 'protocol'>;
  readonly #counted = new Map<string, Counted>();
  /** The newest block at which each open order was read. */
  readonly #readAt = new Map<Hex, number>();
  #block = -1;
  #seconds = 0;

  constructor(truth: Pick<Truth, 'chain' | 'protocol'>) {
    this.#truth = truth;
  }

  /** @param tokenOf gives what an order sells that is open before the fact */
  take(fact: MakerEvent, tokenOf: (orderHash: Hex) => Address | undefined): void {
    switch (fact.type) {
      case 'FillCapSet': {
        const newest = this.#counted.get(keyOf(fact.maker, fact.token))?.cap.issuedAtMs ?? -1;
        if (fact.issuedAtMs > newest) this.#counted.set(keyOf(fact.maker, fact.token), { cap: fact, fills: [] });
        return;
      }
      case 'MakerObserved':
        if (fact.block.number >= this.#block) this.#count(fact, tokenOf);
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

  /** 0: they are not. */
  until(maker: Address, token: Address): number {
    const { cap, fills } = this.#counted.get(keyOf(maker, token)) ?? {};
    if (cap === undefined || fills === undefined || cap.windowSeconds === 0 || cap.amount === '0x0') return 0;
    let [end, sum] = [0, 0n];
    for (const { amount, seconds } of fills) {
      if (seconds >= end) [end, sum] = [seconds + cap.windowSeconds, 0n];
      sum += amount;
    }
    return sum > BigInt(cap.amount) && this.#seconds < end ? end : 0;
  }

  #count({ maker, block, orders }: MakerObserved, tokenOf: (orderHash: Hex) => Address | undefined): void {
    const { chain, protocol } = this.#truth;
    for (const { orderHash } of orders) {
      const token = tokenOf(orderHash);
      if (token === undefined) continue;
      const before = this.#readAt.get(orderHash);
      this.#readAt.set(orderHash, Math.max(before ?? 0, block.number));
      if (before === undefined || before >= block.number) continue;
      const [from = 0n, to = 0n] = [before, block.number].map((at) =>
        valueAt(chain.at(at), filledOf(protocol, orderHash)),
      );
      if (to > from)
        this.#counted.get(keyOf(maker, token))?.fills.push({ amount: to - from, seconds: block.timestamp });
    }
  }
}

const keyOf = (maker: Address, token: Address) => `${maker} ${token}`;
