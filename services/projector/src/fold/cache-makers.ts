import type { Address } from '@makerbook/contracts-primitives';
import { type Funding, type Maker, MakerDraft, type Rules } from '@makerbook/domain';
import { type OrdersInBook, ordersInBook } from './prove-book.js';

/** A maker in memory. */
export interface CachedMaker {
  draft: MakerDraft;
  /** Its funding rows, once the commit that was begun last is done. */
  storedFunding: ReadonlyMap<Address, Funding>;
  readonly inBook: OrdersInBook;
  size: number;
}

/**
 * The makers of one partition in memory, so that the next facts need not read them. Those that were used longest ago
 * are dropped where there are too many.
 */
export class CachedMakers {
  readonly #makers = new Map<Address, CachedMaker>();
  readonly rules: Rules;
  readonly #sizeMax: number;
  #size = 0;

  /** @param sizeMax how many makers and open orders are cached together */
  constructor(sizeMax: number, rules: Rules) {
    this.#sizeMax = sizeMax;
    this.rules = rules;
  }

  get(maker: Address): CachedMaker | undefined {
    return this.#makers.get(maker);
  }

  /** Makers and open orders that are cached. */
  size(): number {
    return this.#size;
  }

  /** @param maker as it is stored */
  load(maker: Maker): CachedMaker {
    const inBook = ordersInBook(maker.orders.values());
    return this.#put({ draft: new MakerDraft(maker, this.rules), storedFunding: maker.funding, inBook, size: 0 });
  }

  /** Keeps the maker, as the last used one. Call it after each change. */
  touch(cached: CachedMaker): void {
    this.forget(cached.draft.maker);
    this.#put(cached);
  }

  forget(maker: Address): void {
    this.#size -= this.#makers.get(maker)?.size ?? 0;
    this.#makers.delete(maker);
  }

  /** Drops makers until there are few enough. */
  evict(): void {
    for (const address of this.#makers.keys()) {
      if (this.#size <= this.#sizeMax) return;
      this.forget(address);
    }
  }

  #put(cached: CachedMaker): CachedMaker {
    cached.size = 1 + cached.draft.orders.size;
    this.#size += cached.size;
    this.#makers.set(cached.draft.maker, cached);
    return cached;
  }
}
