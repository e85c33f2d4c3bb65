import type { MonotonicMs } from '@makerbook/contracts-primitives';
import type { SourceBlock } from './source.js';

/** Blocks of a topic that are not taken yet. They come late, repeated and in any order, or never. */
export class PendingBlocks {
  /** By number, in the order in which they came. */
  readonly #blocks = new Map<number, { readonly block: SourceBlock; readonly atMs: number }>();
  readonly #blocksMax: number;
  readonly #monotonicMs: () => MonotonicMs;
  #due: number | undefined;
  /** The block that came first of all. */
  first: SourceBlock | undefined;
  /** The number of the newest block that came, and when the last one came. */
  newest: number | undefined;
  lastAtMs: number;
  /** Called for each block that is pending, with its number. */
  onBlock: (number: number) => void = () => undefined;

  /** @param blocksMax how many are pending; the node is asked for those beyond when they are due */
  constructor({ blocksMax, monotonicMs }: { readonly blocksMax: number; readonly monotonicMs: () => MonotonicMs }) {
    this.#blocksMax = blocksMax;
    this.#monotonicMs = monotonicMs;
    this.lastAtMs = monotonicMs();
  }

  /** Keeps a block, unless it is not needed any more. */
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

  /** The block with this number becomes the due one: earlier ones are dropped. */
  turnTo(number: number): void {
    this.#due = number;
    for (const known of this.#blocks.keys()) if (known < number) this.#blocks.delete(known);
  }

  get(number: number): SourceBlock | undefined {
    return this.#blocks.get(number)?.block;
  }

  /** True where the block is not needed any more. */
  isPast(number: number): boolean {
    return this.#due !== undefined && number < this.#due;
  }

  /** Since when a later block is there, though the due one is not; undefined while none is. */
  missingSinceMs(): number | undefined {
    if (this.#due === undefined || this.newest === undefined || this.newest < this.#due) return undefined;
    const [earliest] = this.#blocks.values();
    return earliest?.atMs ?? 0;
  }

  /** Before the first question nobody knows which block is due: the newest are kept. Later those that are due first. */
  #dispensable(): number {
    return this.#due === undefined ? Math.min(...this.#blocks.keys()) : Math.max(...this.#blocks.keys());
  }
}
