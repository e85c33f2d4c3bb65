import type { Appender, Log } from '@makerbook/kafka';
import type { Chance } from '@makerbook/parts';
import { type AskedChain, cutBlockgroup, readBlockgroup } from './encode-blockgroup.js';

/** The faults of a fetcher. Each `…OneIn` fault hits one block in this many; 0: none. */
export interface WriterFaults {
  /** The delay of each block. */
  readonly lateMs: number;
  /** The block is never written. */
  readonly gapOneIn: number;
  /** The block is written once, and a part of it both before and after. */
  readonly repeatOneIn: number;
  /** The block is written after the next one. */
  readonly swapOneIn: number;
}

export interface WriterOptions {
  readonly log: Log;
  readonly topic: string;
  readonly partitions: number;
  /** The node. If it does not answer, the block is written later. */
  readonly chain: AskedChain;
  readonly chance: Chance;
  /** Bytes of a record. */
  readonly segmentBytes: number;
  /** Called when Kafka has the block. */
  readonly onWritten?: (number: number) => void;
}

const RIGHT: WriterFaults = { lateMs: 0, gapOneIn: 0, repeatOneIn: 0, swapOneIn: 0 };
const POLL_MS = 50;
const RETRY_MS = 200;
const APPEND_MS_MAX = 30_000;

/** Writes the blocks of a chain to a topic as the chaindatafetcher of a Kaia node does, from the newest one on. */
export class TopicWriter {
  readonly #options: WriterOptions;
  readonly #appender: Appender;
  readonly #running: Promise<void>;
  #faults = RIGHT;
  /** The next block to write; undefined: the one after the head. */
  #checkpoint: number | undefined;
  #swapped: number[] = [];
  #starts = 1;
  #isFetching = true;
  #isClosed = false;
  #wake: () => void = () => undefined;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#appender = options.log.createAppender({ lingerMs: 0, timeoutMs: APPEND_MS_MAX });
    this.#running = this.#run();
  }

  /** Sets the faults from now on, and clears all others. */
  tell(faults: Partial<WriterFaults>): void {
    this.#faults = { ...RIGHT, ...faults };
  }

  /** Tells that the chain may have a new block. Without a call the writer polls. */
  wake(): void {
    this.#wake();
  }

  /** Stops writing: the fetcher is stuck, or its node is gone. */
  stop(): void {
    this.#isFetching = false;
  }

  /**
   * Continues after a restart of the node, with another producer id: from its checkpoint, or from the newest block on.
   */
  start(from: 'checkpoint' | 'head'): void {
    this.#starts += 1;
    if (from === 'head') this.#checkpoint = undefined;
    this.#isFetching = true;
    this.#wake();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake();
    await this.#running;
    await this.#appender.close();
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      const news = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const pauseMs = await this.#writeNew().catch(() => RETRY_MS);
      const timer = setTimeout(this.#wake, pauseMs);
      await news;
      clearTimeout(timer);
    }
  }

  /** @returns when to look again, in milliseconds */
  async #writeNew(): Promise<number> {
    if (!this.#isFetching) return POLL_MS;
    const head = Number(await this.#options.chain.send('eth_blockNumber', []));
    this.#checkpoint ??= head + 1;
    for (let next = this.#checkpoint; next <= head && this.#isFetching; next += 1) {
      await this.#writeDue(next);
      this.#checkpoint = next + 1;
    }
    return POLL_MS;
  }

  async #writeDue(number: number): Promise<void> {
    const { chance } = this.#options;
    const { lateMs, gapOneIn, repeatOneIn, swapOneIn } = this.#faults;
    const happens = (oneIn: number) => oneIn > 0 && chance.oneIn(oneIn);
    if (lateMs > 0) await new Promise((resolve) => setTimeout(resolve, lateMs));
    if (happens(gapOneIn)) return;
    if (happens(swapOneIn)) {
      this.#swapped.push(number);
      return;
    }
    await this.#write(number, happens(repeatOneIn));
    for (const before of this.#swapped.splice(0)) await this.#write(before, false);
  }

  async #write(number: number, isRepeated: boolean): Promise<void> {
    const { topic, partitions, chain, chance, segmentBytes, onWritten } = this.#options;
    const message = await readBlockgroup(chain, number);
    const records = cutBlockgroup(number, message, { segmentBytes, producerId: `producer-${this.#starts}` });
    const part = records.slice(0, chance.between(1, records.length));
    for (const each of isRepeated ? [part, records, part] : [records]) {
      await this.#appender.append(each.map((record) => ({ topic, ...record, partition: number % partitions })));
    }
    onWritten?.(number);
  }
}
