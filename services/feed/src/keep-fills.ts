import { FeedViolation, type MessageId, priceOf, readMessageId } from '@makerbook/book';
import { decodeFill, type Fill } from '@makerbook/contracts-events';
import { type BookFill, FILLS_PAGE, type fillsQuery } from '@makerbook/contracts-http';
import type { StoredRecord } from '@makerbook/kafka';
import btree from 'sorted-btree';
import type { z } from 'zod';
import { type Cursor, isBehind } from './cursor.js';

const { default: BTree } = btree;

export interface KeptFill {
  readonly partition: number;
  readonly id: MessageId;
  readonly fill: BookFill;
  /** The fill in JSON, as pages and streams send it. */
  readonly line: string;
}

/** Some of the kept fills, newest first. `next` is the cursor of older ones, or null if there are none. */
export interface FillsPage {
  readonly lines: readonly string[];
  readonly next: string | null;
}

type Asked = z.infer<typeof fillsQuery>;

/** More logs than a block has. */
const LOGS_MAX = 100_000;

/** The newest fills, keyed by their place on the chain. */
export class KeptFills {
  readonly #max: number;
  readonly #fills = new BTree<number, KeptFill>();
  readonly #last: (MessageId | undefined)[];
  readonly #forgotten: (MessageId | undefined)[];

  constructor(partitions: number, max: number) {
    this.#max = max;
    this.#last = new Array<MessageId | undefined>(partitions).fill(undefined);
    this.#forgotten = [...this.#last];
  }

  /** How far the topic is read. */
  get last(): Cursor {
    return this.#last;
  }

  /** Some fills up to here are no longer kept. */
  get forgotten(): Cursor {
    return this.#forgotten;
  }

  /**
   * Takes the next record of its partition. @returns undefined if the fill was taken before
   * @throws FeedViolation if the topic breaks its promise
   */
  take(record: StoredRecord): KeptFill | undefined {
    const { partition, headers, value, offset } = record;
    const last = this.#last[partition];
    const id = readMessageId({ partition, key: record.key ?? '', headers, value }, last);
    const read = decodeFill(record);
    if ('unreadable' in read)
      throw new FeedViolation(`partition ${partition} of the fills, ${offset}: ${read.unreadable}`);
    // The records before the first one of the topic are deleted.
    if (last === undefined && offset > 0n) this.#forget(partition, { offset: id.offset - 1n, index: 0 });
    const place = placeOf(read);
    // If a fill is published twice, the second message comes soon.
    if (this.#fills.has(place)) return undefined;
    this.#last[partition] = id;
    const fill = describeFill(read);
    const kept = { partition, id, fill, line: JSON.stringify(fill) };
    this.#fills.set(place, kept);
    if (this.#fills.size > this.#max) this.#drop(this.#fills.minKey() ?? place);
    return kept;
  }

  /** Yields the fills that are kept without a gap: the newest come last, and each partition keeps its order. */
  *inOrder(): Generator<KeptFill, void> {
    const all = [...this.#fills.values()];
    all.sort((a, b) => a.partition - b.partition || (isBehind(a.id, b.id) ? 1 : -1));
    const newest = new Map<number, number>();
    const placed = all.map((one) => {
      // Keep a fill that was told late behind those that its partition told before.
      const place = Math.max(placeOf(one.fill), newest.get(one.partition) ?? 0);
      newest.set(one.partition, place);
      return { one, place };
    });
    placed.sort((a, b) => a.place - b.place);
    for (const { one } of placed) if (isBehind(one.id, this.#forgotten[one.partition])) yield one;
  }

  page({ limit = FILLS_PAGE, cursor, making, taking, maker }: Asked): FillsPage {
    const [blockNumber = 0, logIndex = 0] = cursor?.split(':').map(Number) ?? [];
    const before = cursor === undefined ? undefined : placeOf({ blockNumber, logIndex });
    const isOf = (wanted: string | undefined, is: string | undefined) => wanted === undefined || wanted === is;
    const lines: string[] = [];
    let next = '';
    for (const [, { fill, line }] of this.#fills.entriesReversed(before, undefined, true)) {
      if (!isOf(making, fill.makingToken) || !isOf(taking, fill.takingToken) || !isOf(maker, fill.maker)) continue;
      if (lines.length === limit) return { lines, next };
      lines.push(line);
      next = `${fill.blockNumber}:${fill.logIndex}`;
    }
    return { lines, next: null };
  }

  #drop(place: number): void {
    const dropped = this.#fills.get(place);
    this.#fills.delete(place);
    if (dropped !== undefined) this.#forget(dropped.partition, dropped.id);
  }

  #forget(partition: number, id: MessageId): void {
    if (isBehind(id, this.#forgotten[partition])) this.#forgotten[partition] = id;
  }
}

function describeFill({ type: _, position: __, ...fill }: Fill): BookFill {
  const { numerator, denominator } = priceOf(BigInt(fill.takingAmount), BigInt(fill.makingAmount));
  return { ...fill, price: { numerator: String(numerator), denominator: String(denominator) } };
}

function placeOf({ blockNumber, logIndex }: Pick<Fill, 'blockNumber' | 'logIndex'>): number {
  return blockNumber * LOGS_MAX + logIndex;
}
