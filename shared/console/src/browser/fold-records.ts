import { type BookChange, type FeedRecord, RankedOrders, type When } from '@makerbook/book/browser';
import type { BookClock, BookEntry } from '@makerbook/contracts-events';

const SEEN_MAX = 20_000;
const DURATIONS_MAX = 200;

/** The book in the page, and what has changed since it was opened. It trusts the service, and checks nothing. */
export class FoldedBook {
  readonly orders = new RankedOrders();
  readonly entries = new Map<string, BookEntry>();
  readonly clocks = new Map<number, BookClock>();
  /** When the records that a fact led to came here, as a router gets them: by the place of the fact in the log. */
  readonly seenMs = new Map<string, number>();
  /** How many orders became this: ACTIVE, filled in part, or gone for a reason. */
  readonly counts = new Map<string, number>();
  /** From POST to the record that says ACTIVE, in seconds; the newest ones. */
  readonly toActive: number[] = [];
  /** Records are news from now on, and not those of the snapshot. */
  isLive = false;

  apply({ partition, key, value, headers }: FeedRecord, nowMs: number): void {
    const id = { offset: 0n, index: 0 };
    const before = this.entries.get(key);
    if (key.startsWith('clock:')) {
      const clock = JSON.parse(String(value)) as BookClock;
      this.clocks.set(partition, clock);
      this.orders.apply({ kind: 'clock', clock, id });
      return;
    }
    if (this.isLive) this.#see((headers['ce_id'] ?? '').replace(/:\d+$/, ''), nowMs);
    if (value !== null) {
      const entry = JSON.parse(String(value)) as BookEntry;
      this.entries.set(key, entry);
      this.orders.apply({ kind: 'entry', entry, before, id });
      if (this.isLive) this.#countEntry(entry, before, nowMs);
    } else if (before !== undefined) {
      const removal = headers['removal'] ?? 'REMOVED';
      const position = { partition, offset: '0' };
      this.entries.delete(key);
      this.orders.apply({ kind: 'removed', orderHash: before.orderHash, removal, position, before, id } as BookChange);
      this.#count(removal);
    }
  }

  /** Seconds since the block up to which the partition is complete. */
  ageOf(partition: number, nowSeconds: number): number {
    return Math.max(0, nowSeconds - (this.clocks.get(partition)?.block.timestamp ?? 0));
  }

  isStale({ position }: BookEntry, { nowSeconds, staleSecondsMax = 5 }: When): boolean {
    return this.ageOf(position.partition, nowSeconds) > staleSecondsMax;
  }

  #see(fact: string, atMs: number): void {
    this.seenMs.set(fact, this.seenMs.get(fact) ?? atMs);
    const [oldest] = this.seenMs.keys();
    if (this.seenMs.size > SEEN_MAX && oldest !== undefined) this.seenMs.delete(oldest);
  }

  #countEntry({ status, causes, acceptedAtMs }: BookEntry, before: BookEntry | undefined, atMs: number): void {
    if (causes.includes('FILLED')) this.#count('filled in part');
    if (status !== 'ACTIVE' || before?.status === 'ACTIVE') return;
    this.#count('ACTIVE');
    if (before?.status === 'VALIDATING') this.toActive.push(Math.max(0, atMs - acceptedAtMs) / 1000);
    if (this.toActive.length > DURATIONS_MAX) this.toActive.shift();
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}
