import { bookClockKey } from '@makerbook/contracts-events';
import { type BatchContext, type FencedPublisher, type LogRecord, RetryableError } from '@makerbook/kafka';
import type { ProjectionStore } from '@makerbook/postgres';
import { type MessagePlace, placeOfMessage } from '../fold/describe-feeds.js';
import { createProjector, type Projector } from '../own/project-log.js';
import type { ProjectorParts } from '../parts.js';
import { describeDifference } from './describe-difference.js';

const END_TIMEOUT_MS = 10_000;

interface Message {
  readonly place: MessagePlace;
  readonly key: string;
  /** All that a reader has of it. */
  readonly text: string;
}

/** Folds one partition as an owner does, and compares what it would publish with the feeds. */
export class PartitionComparison {
  readonly partition: number;
  /** Blocks whose messages were the same. */
  blocks = 0;
  readonly #parts: Omit<ProjectorParts, 'store'>;
  readonly #signal: AbortSignal;
  readonly #projector: Projector;
  /** Where each feed is read from next, by topic. */
  readonly #ends = new Map<string, bigint>();
  /** What was read of the feeds, and what the fold has made, and is not compared yet; by the message's id. */
  readonly #found = new Map<string, Message>();
  readonly #made = new Map<string, Message>();
  /** All messages of the facts before it were read, by the newest clock. */
  #completeTo = 0n;
  /** All messages of the facts before it are compared, or passed over. */
  #comparedTo: bigint | undefined;

  /** @param rows as they were at one moment in the past */
  constructor(partition: number, rows: ProjectionStore, parts: Omit<ProjectorParts, 'store'>, signal: AbortSignal) {
    this.partition = partition;
    this.#parts = parts;
    this.#signal = signal;
    const publisher: FencedPublisher = {
      takeOver: async () => undefined,
      publish: async (records) => {
        for (const record of records) {
          if (note(this.#made, record) === undefined) throw new Error(`a message of ${record.key} has a wrong id`);
        }
        return [];
      },
      append: () => Promise.reject(new Error('a shadow appends nothing')),
      close: async () => undefined,
    };
    this.#projector = createProjector({
      ...parts,
      settings: { ...parts.settings, HELD_ORDERS_PER_PARTITION_MAX: Number.POSITIVE_INFINITY },
      store: rows,
      // To this fold the feeds are empty, so it makes every message.
      log: { ...parts.log, readLastRecords: async () => [], createFencedPublisher: () => publisher },
      meters: {},
    });
  }

  /**
   * Folds and compares up to the newest clock on the feed.
   * @returns the first difference; undefined where there is none
   * @throws LogUnavailable, RetryableError where the log or the rows cannot be read, or it is stopped; any other error is the
   * fold's
   */
  async step(): Promise<string | undefined> {
    const { partition } = this;
    const { topics } = this.#parts;
    if (!this.#ends.has(topics.book)) await this.#begin();
    await this.#read(topics.book);
    const to = this.#completeTo;
    if (to === (this.#comparedTo ?? 0n)) return undefined;
    // What belongs to the clock was published before it or with it, and so is there by now.
    await this.#read(topics.makers);
    const hold: BatchContext = { assertOwned: () => this.#assertWanted(), park: async () => undefined };
    await this.#projector.handleBatch({ partition, records: [], fromOffset: to, nextOffset: to }, hold);
    return this.#compare(to);
  }

  /**
   * Rows are never ahead of the feeds. So of what comes behind the first clock from now on, this fold makes all, and all is read
   * here: each transaction that has written to the makers' feed is over before the end of the book is looked up.
   */
  async #begin(): Promise<void> {
    const { topics } = this.#parts;
    const end = await this.#endOf(topics.makers);
    this.#ends.set(topics.makers, end === 0n ? end : end - 1n);
    await this.#read(topics.makers);
    this.#ends.set(topics.book, await this.#endOf(topics.book));
  }

  async #endOf(topic: string): Promise<bigint> {
    return (await this.#parts.log.endOffsets(topic, { timeoutMs: END_TIMEOUT_MS }))[this.partition] ?? 0n;
  }

  async #read(topic: string): Promise<void> {
    const { partition } = this;
    for await (const { records, nextOffset } of this.#parts.log.readRange(
      { topic, partition },
      this.#ends.get(topic),
    )) {
      this.#assertWanted();
      for (const record of records) {
        const place = note(this.#found, record);
        if (place !== undefined && record.key === bookClockKey(partition)) this.#completeTo = place.offset + 1n;
      }
      this.#ends.set(topic, nextOffset);
    }
  }

  #compare(to: bigint): string | undefined {
    const isFirst = this.#comparedTo === undefined;
    this.#comparedTo = to;
    const due = [...this.#found, ...this.#made]
      .filter(([, { place }]) => place.offset < to)
      .sort(([, { place: a }], [, { place: b }]) => Number(a.offset - b.offset) || a.index - b.index);
    for (const [id, { place }] of new Map(due)) {
      const [feed, fold] = [this.#found.get(id), this.#made.get(id)];
      this.#found.delete(id);
      this.#made.delete(id);
      if (isFirst) continue;
      const isSame = feed?.text === fold?.text;
      this.#parts.meters.compared?.(isSame ? 'same' : 'different');
      if (!isSame) {
        return `offset ${place.offset}, message ${place.index}: ${describeDifference(feed?.text, fold?.text)}`;
      }
      if (feed?.key === bookClockKey(this.partition)) this.blocks += 1;
    }
    return undefined;
  }

  #assertWanted(): void {
    if (this.#signal.aborted) throw new RetryableError('the comparison is stopped');
  }
}

/** Notes a message by its id, and returns its place. One with an id that no projector gives is passed over. */
function note(messages: Map<string, Message>, record: LogRecord): MessagePlace | undefined {
  const { topic, key, headers, value } = record;
  const place = placeOfMessage(record);
  if (place === undefined) return undefined;
  const id = headers['ce_id'] ?? '';
  const text = `${topic} ${key} ${value ?? 'removed'} ${JSON.stringify(Object.entries(headers).sort())}`;
  // What has the same id twice is no longer the same.
  messages.set(id, { place, key, text: `${messages.get(id)?.text ?? ''}${text}` });
  return place;
}
