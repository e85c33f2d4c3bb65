/** A binary heap of slots by the second at which they are due. */
export class ExpiryQueue {
  private slots: Int32Array = new Int32Array(16);
  private dueAt: Float64Array = new Float64Array(16);
  private count = 0;
  /** By slot, where it is in the heap. */
  private readonly places: number[] = [];

  push(slot: number, dueAtSeconds: number): void {
    if (this.count === this.slots.length) this.grow();
    this.rise(this.count++, slot, dueAtSeconds);
  }

  /** Takes out the slot that was due first; undefined when none is due at this second. */
  popDue(nowSeconds: number): number | undefined {
    if (this.count === 0 || this.dueOf(0) > nowSeconds) return undefined;
    const top = this.slotOf(0);
    this.removeAt(0);
    return top;
  }

  /** Takes out a slot that is in the queue. */
  remove(slot: number): void {
    const at = this.places[slot] ?? -1;
    if (at >= this.count || this.slotOf(at) !== slot) throw new Error(`slot ${slot} is not in the queue`);
    this.removeAt(at);
  }

  private removeAt(hole: number): void {
    this.count -= 1;
    if (hole === this.count) return;
    const slot = this.slotOf(this.count);
    const due = this.dueOf(this.count);
    let at = hole;
    for (let child = at * 2 + 1; child < this.count; child = at * 2 + 1) {
      if (child + 1 < this.count && this.dueOf(child + 1) < this.dueOf(child)) child += 1;
      if (this.dueOf(child) >= due) break;
      this.place(at, this.slotOf(child), this.dueOf(child));
      at = child;
    }
    this.rise(at, slot, due);
  }

  private rise(from: number, slot: number, dueAtSeconds: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.dueOf(parent) <= dueAtSeconds) break;
      this.place(at, this.slotOf(parent), this.dueOf(parent));
      at = parent;
    }
    this.place(at, slot, dueAtSeconds);
  }

  private slotOf(at: number): number {
    return this.slots[at] ?? -1;
  }

  private dueOf(at: number): number {
    return this.dueAt[at] ?? Number.POSITIVE_INFINITY;
  }

  private place(at: number, slot: number, due: number): void {
    this.slots[at] = slot;
    this.dueAt[at] = due;
    this.places[slot] = at;
  }

  private grow(): void {
    const slots = new Int32Array(this.slots.length * 2);
    slots.set(this.slots);
    this.slots = slots;
    const dueAt = new Float64Array(this.dueAt.length * 2);
    dueAt.set(this.dueAt);
    this.dueAt = dueAt;
  }
}
