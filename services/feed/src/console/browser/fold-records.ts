import { type BookChange, type FeedRecord, RankedOrders, type When } from '@makerbook/book/browser';
import type { BookClock, BookEntry } from '@makerbook/contracts-events';

const SEEN_MAX = 20_000;

/** The book in the page, and what has changed since it was opened. It trusts the service, and checks nothing. */
export class FoldedBook {
  readonly orders = new RankedOrders();
  readonly entries = new Map<string, BookEntry>();
  readonly clocks = new Map<number, BookClock>();
  /** When the first record of a fact came here, in Unix milliseconds. Keyed by the fact's place in the log. */
  readonly seenMs = new Map<string, number>();
  /** True once the snapshot is read. Records are news from then on. */
  isLive = false;

  apply({ partition, key, value, headers }: FeedRecord, nowMs: number): void {
    if (this.isLive) this.#see(headers['ce_id'] ?? '', nowMs);
    const before = this.entries.get(key);
    if (key.startsWith('clock:')) {
      const clock = JSON.parse(String(value)) as BookClock;
      this.clocks.set(partition, clock);
      this.orders.apply({ kind: 'clock', clock } as BookChange);
    } else if (value !== null) {
      const entry = JSON.parse(String(value)) as BookEntry;
      this.entries.set(key, entry);
      this.orders.apply({ kind: 'entry', entry, before } as BookChange);
    } else if (before !== undefined) {
      this.entries.delete(key);
      this.orders.apply({ kind: 'removed', before } as BookChange);
    }
  }

  /** Seconds since the block up to which the partition is complete. */
  ageOf(partition: number, nowSeconds: number): number {
    return Math.max(0, nowSeconds - (this.clocks.get(partition)?.block.timestamp ?? 0));
  }

  isStale({ position }: BookEntry, { nowSeconds, staleSecondsMax = 5 }: When): boolean {
    return this.ageOf(position.partition, nowSeconds) > staleSecondsMax;
  }

  #see(id: string, atMs: number): void {
    const fact = id.replace(/:\d+$/, '');
    this.seenMs.set(fact, this.seenMs.get(fact) ?? atMs);
    if (this.seenMs.size > SEEN_MAX) this.seenMs.clear();
  }
}
