import type { Hex } from '@makerbook/contracts-primitives';

const HASH_BYTES = 32;
const FIRST_SLOTS = 16;

/**
 * Maps order hashes to small integers (slots). A million hashes cost about 60 MB, with nothing for the garbage
 * collector to visit. Slots of deleted orders are reused, so columns beside the index are arrays indexed by slot.
 */
export class OrderIndex {
  #hashes = Buffer.alloc(HASH_BYTES * FIRST_SLOTS);
  #used = 0;
  readonly #free: number[] = [];
  /** Keyed by the first 32 bits of the hash. */
  readonly #slots = new Map<number, number>();
  /** The few orders whose hashes begin like one in `#slots`. */
  readonly #others = new Map<Hex, number>();

  get size(): number {
    return this.#used - this.#free.length;
  }

  /** The slot of the order, or -1. */
  find(hash: Hex): number {
    const slot = this.#slots.get(startOf(hash));
    return slot !== undefined && this.hashAt(slot) === hash ? slot : (this.#others.get(hash) ?? -1);
  }

  /** Gives a slot to an order that has none. */
  insert(hash: Hex): number {
    const slot = this.#free.pop() ?? this.#used++;
    const at = slot * HASH_BYTES;
    if (at === this.#hashes.length) this.#hashes = Buffer.concat([this.#hashes], 2 * at);
    this.#hashes.write(hash.slice(2), at, 'hex');
    if (this.#slots.has(startOf(hash))) this.#others.set(hash, slot);
    else this.#slots.set(startOf(hash), slot);
    return slot;
  }

  /** Forgets the order of a slot that is in use. */
  delete(slot: number): void {
    const hash = this.hashAt(slot);
    if (!this.#others.delete(hash)) this.#slots.delete(startOf(hash));
    this.#free.push(slot);
  }

  /** The hash of a slot in use. */
  hashAt(slot: number): Hex {
    return `0x${this.#hashes.toString('hex', slot * HASH_BYTES, (slot + 1) * HASH_BYTES)}`;
  }
}

function startOf(hash: Hex): number {
  return Number.parseInt(hash.slice(2, 10), 16) | 0;
}
