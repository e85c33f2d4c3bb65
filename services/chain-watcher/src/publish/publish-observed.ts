import { createHash } from 'node:crypto';
import {
  type BlockRef,
  encodeMakerEvent,
  type MakerEvent,
  type MakerObserved,
  servicePartition,
  type TraceHeaders,
} from '@makerbook/contracts-events';
import type { UnixMs } from '@makerbook/contracts-primitives';
import { type FencedPublisher, type LogRecord, partitionOf } from '@makerbook/kafka';
import { carryOn, inSendSpan } from '@makerbook/telemetry';

/** A reading of a maker, with the trace of the request that led to it; without a trace if a block led to it. */
export interface Observed {
  readonly fact: MakerObserved;
  readonly trace: TraceHeaders | undefined;
}

/** The offset of the last record appended to each partition, keyed by partition. */
export type AppendedTo = ReadonlyMap<number, bigint>;

export interface PublisherOptions {
  readonly publisher: FencedPublisher;
  readonly topic: string;
  readonly partitions: number;
  /** Milliseconds since 1970. */
  readonly unixMs: () => UnixMs;
  /** Throws if nothing may be published of the block. */
  readonly assertTimely: (block: BlockRef) => Promise<void>;
}

const SOURCE = '/makerbook/chain-watcher';

/**
 * Appends the facts of one holder to the log. Every method throws PublisherFenced once another watcher has taken over,
 * or LogUnavailable, after which a retry is harmless.
 */
export class FactPublisher {
  readonly #options: PublisherOptions;
  /** The last record of each partition, -1 before the first; undefined during an append, and after a failed one. */
  readonly #appendedTo: (bigint | undefined)[];

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#appendedTo = new Array<bigint | undefined>(options.partitions).fill(-1n);
  }

  /** True if everything that this holder appended to the partition is before the offset; false if that is unknown. */
  isBefore(partition: number, offset: bigint): boolean {
    return (this.#appendedTo[partition] ?? offset) < offset;
  }

  /** Appends readings without a block. */
  async publish(observed: readonly Observed[]): Promise<AppendedTo> {
    const [first] = observed;
    if (first === undefined) return new Map();
    await this.#options.assertTimely(first.fact.block);
    return inSendSpan(this.#options.topic, observed.length, {}, () => this.#append(this.#recordsOf(observed)));
  }

  /**
   * Appends a block's readings and its `BlockProcessed` to each of the partitions as one record batch, so that a
   * partition has all of it or nothing. Readings that do not fit go before the batch, in whole records.
   */
  async publishBlock(observed: readonly Observed[], block: BlockRef, to: readonly number[]): Promise<void> {
    await this.#options.assertTimely(block);
    const attributes = { 'makerbook.block': block.number };
    await inSendSpan(this.#options.topic, observed.length + to.length, attributes, () => {
      const processed = to.map((partition) => {
        const id = `${block.number}:BlockProcessed:${partition}`;
        return this.#recordOf(partition, { type: 'BlockProcessed', block }, id, block.timestamp * 1000);
      });
      return this.#append([...this.#recordsOf(observed), ...processed]);
    });
  }

  /** Tells the other watchers that one may take over at once. If that fails, they find out by themselves. */
  async resign(): Promise<void> {
    const timeMs = this.#options.unixMs();
    const record = this.#recordOf(servicePartition, { type: 'WatcherResigned' }, `WatcherResigned:${timeMs}`, timeMs);
    await this.#append([record]).catch(() => undefined);
  }

  async #append(records: readonly LogRecord[]): Promise<AppendedTo> {
    for (const { partition } of records) this.#appendedTo[partition] = undefined;
    const appended = await this.#options.publisher.append(records);
    const last = new Map(appended.map(({ partition, offset }) => [partition, offset]));
    for (const [partition, offset] of last) this.#appendedTo[partition] = offset;
    return last;
  }

  #recordsOf(observed: readonly Observed[]): LogRecord[] {
    return observed.map(({ fact, trace }) => {
      // A repeat has the same id, whichever watcher reads it.
      const digest = createHash('sha256').update(JSON.stringify(fact)).digest('base64url');
      const id = `${fact.block.number}:${digest.slice(0, 22)}`;
      const partition = partitionOf(fact.maker, this.#options.partitions);
      return this.#recordOf(partition, fact, id, fact.block.timestamp * 1000, trace);
    });
  }

  #recordOf(partition: number, event: MakerEvent, id: string, timeMs: number, origin?: TraceHeaders): LogRecord {
    const { key, value, headers } = encodeMakerEvent(event, { id, source: SOURCE, timeMs, trace: carryOn(origin) });
    return { topic: this.#options.topic, partition, key: key ?? '', value, headers };
  }
}
