import type { Address } from '@makerbook/contracts-primitives';
import type { Maker } from '@makerbook/domain';
import type { DueMaker } from '@makerbook/postgres';

/** How many makers are loaded together because they are due. */
const groupMakersMax = 256;

/** Knows when each maker with open orders is due, whether the maker is in memory or not. */
export class DueMakers {
  readonly #makers = new Map<Address, DueMaker>();
  /** No maker is due before this second; a lower bound. */
  #nextSeconds = Number.POSITIVE_INFINITY;

  constructor(due: readonly DueMaker[]) {
    for (const one of due) this.#put(one);
  }

  /** Call it after each change of a maker. */
  set({ maker, dueAtSeconds, orders }: Maker): void {
    if (Number.isFinite(dueAtSeconds)) this.#put({ maker, dueAtSeconds, openOrders: orders.size });
    else this.#makers.delete(maker);
  }

  /** The number of open orders of a maker, whether the maker is in memory or not; 0 for a maker in quarantine. */
  ordersOf(maker: Address): number {
    return this.#makers.get(maker)?.openOrders ?? 0;
  }

  /**
   * The makers that are due, by address. Each group is one maker, or has at most `groupOrdersMax` open orders together.
   * Advance all of them, and call `set` after that.
   */
  groupsAt(seconds: number, groupOrdersMax: number): Address[][] {
    if (seconds < this.#nextSeconds) return [];
    const due: DueMaker[] = [];
    this.#nextSeconds = Number.POSITIVE_INFINITY;
    for (const one of this.#makers.values()) {
      if (one.dueAtSeconds <= seconds) due.push(one);
      else this.#nextSeconds = Math.min(this.#nextSeconds, one.dueAtSeconds);
    }
    const groups: Address[][] = [];
    let orders = Number.POSITIVE_INFINITY;
    for (const { maker, openOrders } of due.sort((a, b) => (a.maker < b.maker ? -1 : 1))) {
      orders += openOrders;
      if (orders > groupOrdersMax || groups.at(-1)?.length === groupMakersMax) {
        groups.push([]);
        orders = openOrders;
      }
      groups.at(-1)?.push(maker);
    }
    return groups;
  }

  #put(due: DueMaker): void {
    this.#makers.set(due.maker, due);
    this.#nextSeconds = Math.min(this.#nextSeconds, due.dueAtSeconds);
  }
}
