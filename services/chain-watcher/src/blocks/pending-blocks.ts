import type { MonotonicMs } from '@makerbook/contracts-primitives';
import type { SourceBlock } from './source.js';

/** Blocks of a topic that are not taken yet. They come late, repeated and in any order, or never. */
export class PendingBlocks {
  /** Keyed by number, in order of arrival. */
  readonly #blocks = new Map<number, { readonly block: SourceBlock; readonly atMs: number }>();
  readonly #blocksMax: number;
  readonly #monotonicMs: () => MonotonicMs;
  #due: number | undefined;
  /** The first block that arrived. */
  first: SourceBlock | undefined;
  /** The number of the newest block, and when a block last arrived. */
  newest: number | undefined;
  lastAtMs: number;
  /** Called for each block that is pending, with its number. */
  onBlock: (number: number) => void = () => undefined;

  /** @param blocksMax how many blocks are kept; the node is asked for the rest when they are due */
  constructor({ blocksMax, monotonicMs }: { readonly blocksMax: number; readonly monotonicMs: () => MonotonicMs }) {
    this.#blocksMax = blocksMax;
    this.#monotonicMs = monotonicMs;
    this.lastAtMs = monotonicMs();
  }

  /** Keeps a block if it is still needed. */
  add(block: SourceBlock): void {
    const { number } = block.header;
    this.first ??= block;
    this.lastAtMs = this.#monotonicMs();
    this.newest = Math.max(this.newest ?? number, number);
    if (this.isPast(number) || this.#blocks.has(number)) return;
    this.#blocks.set(number, { block, atMs: this.#monotonicMs() });
    if (this.#blocks.size > this.#blocksMax) this.#blocks.delete(this.#dispensable());
    this.onBlock(number);
  }

  /** Makes this block the due one, and drops earlier blocks. */
  turnTo(number: number): void {
    this.#due = number;
    for (const known of this.#blocks.keys()) if (known < number) this.#blocks.delete(known);
  }

  get(number: number): SourceBlock | undefined {
    return this.#blocks.get(number)?.block;
  }

  /** True if the block is no longer needed. */
  isPast(number: number): boolean {
    return this.#due !== undefined && number < this.#due;
  }

  /** Since when a later block is here while the due one is missing; undefined if there is no later block. */
  missingSinceMs(): number | undefined {
    if (this.#due === undefined || this.newest === undefined || this.newest < this.#due) return undefined;
    const [earliest] = this.#blocks.values();
    return earliest?.atMs ?? 0;
  }

  /** The block to drop. Until the due block is known, the newest are kept. After that the blocks due first are kept. */
  #dispensable(): number {
    return this.#due === undefined ? Math.min(...this.#blocks.keys()) : Math.max(...this.#blocks.keys());
  }
}
