/** Open orders of a partition by where their facts stand, so that the youngest are found without a look at all others. */
export class Arrivals {
  private readonly isThere: (order: number, offset: number) => boolean;
  private orders: number[] = [];
  private offsets: number[] = [];
  private compactAt = COMPACT_MIN;

  /** @param isThere whether the slot still holds the order of that offset: slots are used again */
  constructor(isThere: (order: number, offset: number) => boolean) {
    this.isThere = isThere;
  }

  /** Offsets never go down. */
  push(order: number, offset: number): void {
    if (this.orders.length >= this.compactAt) this.compact();
    this.orders.push(order);
    this.offsets.push(offset);
  }

  /** Slots of the orders at this offset and later, newest first. */
  from(offset: number): number[] {
    const found: number[] = [];
    for (let at = this.orders.length - 1; at >= 0; at -= 1) {
      const [order = -1, arrivedAt = -1] = [this.orders[at], this.offsets[at]];
      if (arrivedAt < offset) break;
      if (this.isThere(order, arrivedAt)) found.push(order);
    }
    return found;
  }

  private compact(): void {
    const kept = this.orders.map((order, at) => this.isThere(order, this.offsets[at] ?? -1));
    this.orders = this.orders.filter((_, at) => kept[at]);
    this.offsets = this.offsets.filter((_, at) => kept[at]);
    this.compactAt = Math.max(COMPACT_MIN, this.orders.length * 2);
  }
}

/** Half of what is there at the most is gone already, from this many on. */
const COMPACT_MIN = 64;
