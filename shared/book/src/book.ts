import {
  type BookClock,
  type BookEntry,
  type BookRemovalReason,
  bookClockKey,
  bookRemovalReason,
  decodeBookRecord,
  type LogPosition,
} from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';

import { type BookDigest, BookHash } from './hash-book.js';
import { createEntryPacker } from './pack-entries.js';

/** A record of `limit-orders.book.v1` as in Kafka. `value` is JSON, or null in a tombstone. */
export interface FeedRecord {
  readonly partition: number;
  readonly key: string;
  readonly value: Buffer | string | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** A message as Kafka clients for Node.js return it: kafkajs and those with its types. */
export interface NodeMessage {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: Readonly<Record<string, string | Buffer | (string | Buffer)[] | undefined>>;
}

/** Turns a message of a client into a record of the feed. */
export function feedRecordOf(partition: number, { key, value, headers = {} }: NodeMessage): FeedRecord {
  const texts = Object.entries(headers).map(([name, text]) => [name, String(text)]);
  return { partition, key: String(key ?? ''), value, headers: Object.fromEntries(texts) };
}

/**
 * Identifies a message of a partition: the offset of the fact that led to it, and its index among that fact's messages.
 */
export interface MessageId {
  readonly offset: bigint;
  readonly index: number;
}

/** The change that one record made. `before`: the entry that the book held; undefined if none. */
export type BookChange =
  | {
      readonly kind: 'entry';
      readonly entry: BookEntry;
      readonly before: BookEntry | undefined;
      readonly id: MessageId;
    }
  | {
      readonly kind: 'removed';
      readonly orderHash: Hex;
      readonly removal: BookRemovalReason;
      readonly position: LogPosition;
      readonly before: BookEntry | undefined;
      readonly id: MessageId;
    }
  | { readonly kind: 'clock'; readonly clock: BookClock; readonly id: MessageId };

/** The feed broke its promise, or a record cannot be read. The contents of the book can no longer be relied on. */
export class FeedViolation extends Error {
  override readonly name = 'FeedViolation';
}

/**
 * All orders of the feed in memory. Apply its records in the order of each partition. You need not filter: the feed is
 * published exactly once and never goes back. `apply` checks that.
 */
export class Book {
  readonly #entries = new Map<string, BookEntry>();
  readonly #clocks = new Map<number, BookClock>();
  readonly #last = new Map<number, MessageId>();
  readonly #hashes = new Map<number, BookHash>();
  #isWhole = false;
  readonly #pack = createEntryPacker();

  /** Open orders by hash, as in the feed: of any status, until their tombstone. */
  get entries(): ReadonlyMap<string, BookEntry> {
    return this.#entries;
  }

  /** Keyed by partition: the block and log position up to which that part of the book is complete. */
  get clocks(): ReadonlyMap<number, BookClock> {
    return this.#clocks;
  }

  /**
   * The timestamp, in seconds, of the block up to which all partitions are complete. The book may lack what happened
   * after it. Undefined until every partition has a clock.
   * @param partitions of the topic
   */
  staleSince(partitions: number): number | undefined {
    if (partitions === 0 || this.#clocks.size < partitions) return undefined;
    return Math.min(...[...this.#clocks.values()].map(({ block }) => block.timestamp));
  }

  /** The digest that a clock of the partition would have now. */
  digestOf(partition: number): BookDigest {
    return (this.#hashes.get(partition) ?? new BookHash()).digest;
  }

  /**
   * From now on each clock must agree with the book's content of its partition. Call it once everything the topic held
   * at the start is applied: until then, records that compaction has removed are missing.
   */
  expectWhole(): void {
    this.#isWhole = true;
  }

  /** @throws FeedViolation which leaves the book as it was; do not use the book any more */
  apply(record: FeedRecord): BookChange {
    const id = this.#readId(record);
    const change = record.value === null ? this.#removalOf(record, id) : this.#newsOf(record, id);
    this.#last.set(record.partition, id);
    this.#hash(record.partition, change);
    if (change.kind === 'entry') this.#entries.set(change.entry.orderHash, change.entry);
    else if (change.kind === 'removed') this.#entries.delete(record.key);
    else this.#clocks.set(record.partition, change.clock);
    return change;
  }

  #readId(record: FeedRecord): MessageId {
    const id = readMessageId(record, this.#last.get(record.partition));
    const complete = this.#clocks.get(record.partition)?.position.offset;
    if (complete !== undefined && id.offset < BigInt(complete))
      throw violation(
        record,
        `message ${record.headers['ce_id']} came after the clock that completed all before ${complete}`,
      );
    return id;
  }

  #newsOf(record: FeedRecord, id: MessageId): BookChange {
    const news = decodeBookRecord(record);
    if ('unreadable' in news) throw violation(record, news.unreadable);
    if (news.position.partition !== record.partition)
      throw violation(record, `its position is in partition ${news.position.partition}`);
    if (news.type === 'BookEntry') {
      const before = this.#entries.get(record.key);
      if (news.orderHash !== record.key) throw violation(record, `it is of order ${news.orderHash}`);
      assertGrows(record, news.position, before?.position);
      return { kind: 'entry', entry: this.#pack(news), before, id };
    }
    const before = this.#clocks.get(record.partition);
    if (record.key !== bookClockKey(record.partition)) throw violation(record, 'it is the clock of another partition');
    assertGrows(record, news.position, before?.position);
    if (before !== undefined && news.block.number < before.block.number)
      throw violation(record, `block ${news.block.number} came after block ${before.block.number}`);
    const { entries, hash } = this.digestOf(record.partition);
    const { book } = news;
    if (this.#isWhole && book !== undefined && (book.entries !== entries || book.hash !== hash)) {
      const held = `the book has ${entries} orders with the hash ${hash}, and must have ${book.entries} with ${book.hash}`;
      throw violation(record, `${held}: a record was lost, repeated or altered`);
    }
    return { kind: 'clock', clock: news, id };
  }

  #hash(partition: number, change: BookChange): void {
    if (change.kind === 'clock') return;
    const hash = this.#hashes.get(partition) ?? new BookHash();
    this.#hashes.set(partition, hash);
    if (change.before !== undefined) hash.remove(change.before);
    if (change.kind === 'entry') hash.add(change.entry);
  }

  #removalOf(record: FeedRecord, id: MessageId): BookChange {
    const { removal, position_partition: partition, position_offset: offset } = record.headers;
    const reason = bookRemovalReason.safeParse(removal);
    if (!reason.success || Number(partition) !== record.partition || offset === undefined)
      throw violation(record, `a tombstone says removal ${removal}, position ${partition}:${offset}`);
    const position = { partition: record.partition, offset };
    const before = this.#entries.get(record.key);
    assertGrows(record, position, before?.position);
    return { kind: 'removed', orderHash: record.key as Hex, removal: reason.data, position, before, id };
  }
}

/**
 * Reads the id of a record's message.
 * @param last the message before it in its partition
 * @throws FeedViolation if it has no id, or does not come after the last one
 */
export function readMessageId(record: FeedRecord, last: MessageId | undefined): MessageId {
  const text = record.headers['ce_id'] ?? '';
  const [, partition, offset, index] = /^(\d+):(\d+):(\d+)$/.exec(text) ?? [];
  if (Number(partition) !== record.partition || offset === undefined || index === undefined)
    throw violation(record, `ce_id ${text || 'is missing, it'} is not <partition>:<offset>:<index>`);
  const id = { offset: BigInt(offset), index: Number(index) };
  if (last !== undefined && !isAfter(id, last))
    throw violation(record, `message ${text} came after ${record.partition}:${last.offset}:${last.index}`);
  return id;
}

function isAfter(id: MessageId, last: MessageId): boolean {
  return id.offset > last.offset || (id.offset === last.offset && id.index > last.index);
}

/** One fact can lead to several records of a key: it may open an order and remove it. */
function assertGrows(record: FeedRecord, { offset }: LogPosition, before: LogPosition | undefined): void {
  if (before !== undefined && BigInt(offset) < BigInt(before.offset))
    throw violation(record, `position ${offset} came after ${before.offset}`);
}

function violation({ partition, key }: FeedRecord, what: string): FeedViolation {
  return new FeedViolation(`partition ${partition} of the book, key ${key}: ${what}`);
}
