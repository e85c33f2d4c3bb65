import { type BookChange, type FeedRecord, RankedOrders } from '@makerbook/book/browser';
import type { BookClock, BookEntry } from '@makerbook/contracts-events';

/** The time here, and how old a clock may be. */
export interface When {
  readonly nowSeconds: number;
  readonly staleSecondsMax: number;
}

/** What happened to an order, as the router saw it. */
export interface Step {
  readonly atMs: number;
  /** Its status, or why it left the book. */
  readonly what: string;
  readonly causes: readonly string[];
  /** What is left of what the order sells. */
  readonly remaining?: { readonly amount: bigint; readonly token: string };
  /** The one whose funds it was judged by. */
  readonly block?: number;
  /** The place in the log of the fact that led to it. */
  readonly fact: string;
}

const STEPS_MAX = 50;
const STORIES_MAX = 5_000;
const DURATIONS_MAX = 200;

/** The book in the page, and what has changed since it was opened. It trusts the service, and checks nothing. */
export class FoldedBook {
  readonly orders = new RankedOrders();
  readonly entries = new Map<string, BookEntry>();
  readonly clocks = new Map<number, BookClock>();
  /** By order: the newest steps of those that changed last. */
  readonly stories = new Map<string, readonly Step[]>();
  /** How many orders became this: ACTIVE, filled in part, or gone for a reason. */
  readonly counts = new Map<string, number>();
  /** From POST to the record that says ACTIVE, in seconds; the newest ones. */
  readonly toActive: number[] = [];
  /** Records are news from now on, and not those of the snapshot. */
  isLive = false;

  apply({ partition, key, value, headers }: FeedRecord, nowMs: number): void {
    const id = { offset: 0n, index: 0 };
    const before = this.entries.get(key);
    const fact = (headers['ce_id'] ?? '').replace(/:\d+$/, '');
    if (key.startsWith('clock:')) {
      const clock = JSON.parse(String(value)) as BookClock;
      this.clocks.set(partition, clock);
      this.orders.apply({ kind: 'clock', clock, id });
    } else if (value !== null) {
      const entry = JSON.parse(String(value)) as BookEntry;
      this.entries.set(key, entry);
      this.orders.apply({ kind: 'entry', entry, before, id });
      if (this.isLive) this.#noteEntry(entry, before, { atMs: nowMs, fact });
    } else if (before !== undefined) {
      const removal = headers['removal'] ?? 'REMOVED';
      const position = { partition, offset: '0' };
      this.entries.delete(key);
      this.orders.apply({ kind: 'removed', orderHash: before.orderHash, removal, position, before, id } as BookChange);
      this.#note(key, { atMs: nowMs, fact, what: removal, causes: [] });
      this.#count(removal);
    }
  }

  /** Seconds since the block up to which the partition is complete. */
  ageOf(partition: number, nowSeconds: number): number {
    return Math.max(0, nowSeconds - (this.clocks.get(partition)?.block.timestamp ?? 0));
  }

  isStale({ position }: BookEntry, { nowSeconds, staleSecondsMax }: When): boolean {
    return this.ageOf(position.partition, nowSeconds) > staleSecondsMax;
  }

  #noteEntry(entry: BookEntry, before: BookEntry | undefined, at: Pick<Step, 'atMs' | 'fact'>): void {
    const { status, causes, orderHash, order } = entry;
    const what = status === 'INACTIVE' ? `${status}: ${entry.reason}` : status;
    const remaining = { amount: BigInt(entry.remainingMakingAmount), token: order.making.token };
    const judged = entry.status === 'VALIDATING' ? {} : { block: entry.funding.block };
    this.#note(orderHash, { ...at, what, causes, remaining, ...judged });
    if (causes.includes('FILLED')) this.#count('filled in part');
    if (status !== 'ACTIVE' || before?.status === 'ACTIVE') return;
    this.#count('ACTIVE');
    if (before?.status === 'VALIDATING') this.toActive.push(Math.max(0, at.atMs - entry.acceptedAtMs) / 1000);
    if (this.toActive.length > DURATIONS_MAX) this.toActive.shift();
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  #note(orderHash: string, step: Step): void {
    const story = this.stories.get(orderHash) ?? [];
    this.stories.delete(orderHash);
    this.stories.set(orderHash, [...story, step].slice(-STEPS_MAX));
    const [oldest] = this.stories.keys();
    if (this.stories.size > STORIES_MAX && oldest !== undefined) this.stories.delete(oldest);
  }
}
