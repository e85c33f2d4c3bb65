import type { Address } from '@makerbook/contracts-primitives';
import { type Funding, type Maker, MakerDraft, type Rules } from '@makerbook/domain';
import { type OrdersInBook, ordersInBook } from './prove-book.js';

/** A maker in memory. */
export interface CachedMaker {
  draft: MakerDraft;
  /** Its funding rows, as they are once the latest commit is done. */
  storedFunding: ReadonlyMap<Address, Funding>;
  readonly inBook: OrdersInBook;
  size: number;
}

/**
 * The makers of one partition in memory, so that the next facts need not read them. If there are too many, it drops the
 * least recently used ones, but none with uncommitted changes.
 */
export class CachedMakers {
  readonly #makers = new Map<Address, CachedMaker>();
  readonly rules: Rules;
  /** How many makers and open orders may be cached, counted together. */
  readonly sizeMax: number;
  #size = 0;

  constructor(sizeMax: number, rules: Rules) {
    this.sizeMax = sizeMax;
    this.rules = rules;
  }

  get(maker: Address): CachedMaker | undefined {
    return this.#makers.get(maker);
  }

  /** The number of makers and open orders that are cached. */
  size(): number {
    return this.#size;
  }

  /** @param maker as it is stored */
  load(maker: Maker): CachedMaker {
    const inBook = ordersInBook(maker.orders.values());
    return this.#put({ draft: new MakerDraft(maker, this.rules), storedFunding: maker.funding, inBook, size: 0 });
  }

  /** Keeps the maker as the most recently used one. Call it after each change. */
  touch(cached: CachedMaker): void {
    this.forget(cached.draft.maker);
    this.#put(cached);
  }

  forget(maker: Address): void {
    this.#size -= this.#makers.get(maker)?.size ?? 0;
    this.#makers.delete(maker);
  }

  /**
   * Drops makers until `room` more makers and open orders fit.
   * @param isKept true for a maker that must stay: it is needed, or its changes would hold it anyway
   * @returns true if there is room
   */
  evict(room: number, isKept: (maker: Address) => boolean): boolean {
    for (const address of this.#makers.keys()) {
      if (this.#size + room <= this.sizeMax) break;
      if (!isKept(address)) this.forget(address);
    }
    return this.#size + room <= this.sizeMax;
  }

  #put(cached: CachedMaker): CachedMaker {
    cached.size = 1 + cached.draft.orders.size;
    this.#size += cached.size;
    this.#makers.set(cached.draft.maker, cached);
    return cached;
  }
}
