import { type Send, sendAtOnce } from '@makerbook/parts';
import { LogUnavailable, PublisherFenced } from '../failures.js';
import type {
  AppendedAt,
  Appender,
  FencedPublisher,
  Following,
  FollowOptions,
  Log,
  LogRecord,
  StoredRecord,
  TopicPartition,
} from '../log.js';

/** The part of the log that a process sees. */
export type LogView = Omit<
  Log,
  'createTopics' | 'skipOffsets' | 'verifyTopics' | 'alterTopic' | 'partitionsOf' | 'consumePartitions' | 'close'
>;

/** One partition of a topic. */
interface HeldPartition {
  readonly records: StoredRecord[];
  /** The offset after the last record and after the marker of its transaction. */
  end: bigint;
}

export interface LogInMemoryOptions {
  readonly partitions: number;
  readonly nowMs?: () => number;
  /** Records in one record batch that a fenced publisher appends. Default 500. */
  readonly batchRecordsMax?: number;
  /** Called with the records that were stored together. */
  readonly onStored?: (records: readonly StoredRecord[]) => void;
}

/** Few records, so that a range has several pieces. */
const PIECE_RECORDS = 7;

/** Sends a request that fails with LogUnavailable. */
type Ask = <T>(what: string, serve: () => T) => Promise<T>;

const unavailable = (fate: string) => new LogUnavailable(fate, { mayHaveBeenAppended: fate !== 'refused' });

/** Topics in memory, with Kafka's promises: for tests that need thousands of runs. */
export class LogInMemory {
  /** Planted defects: promises that the log breaks on demand. */
  static hidesFeedEnd = false;
  static ignoresFence = false;
  static raisesNoEpoch = false;
  static answersTooEarly = false;
  static splitsTransactions = false;
  static publishesClocksFirst = false;
  /** Appends with a record whose type contains this are confirmed but not stored. */
  static losesType: string | undefined;
  /** Everything that fenced publishers have published, in order. */
  readonly published: StoredRecord[] = [];
  readonly #options: LogInMemoryOptions;
  readonly #topics = new Map<string, readonly HeldPartition[]>();
  readonly #publishers = new Map<string, number>();
  readonly #waiting = new Set<() => void>();

  constructor(options: LogInMemoryOptions) {
    this.#options = options;
  }

  records(topic: string, partition: number): readonly StoredRecord[] {
    return this.#partition(topic, partition).records;
  }

  end(topic: string, partition: number): bigint {
    return this.#partition(topic, partition).end;
  }

  /** Stores a record at its own offset, which must not be before the end. */
  put(record: StoredRecord): void {
    const held = this.#partition(record.topic, record.partition);
    if (record.offset < held.end) throw new Error(`${record.offset} is before the end, ${held.end}`);
    held.records.push(record);
    held.end = record.offset + 1n;
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  /** @param isTransaction its marker takes an offset in each partition */
  store(records: readonly LogRecord[], isTransaction = false): StoredRecord[] {
    const timestampMs = this.#options.nowMs?.() ?? 0;
    const stored = records.map((record) => {
      const one = { ...record, offset: this.end(record.topic, record.partition), timestampMs };
      this.put(one);
      return one;
    });
    const touched = new Set(records.map(({ topic, partition }) => this.#partition(topic, partition)));
    if (isTransaction) for (const held of touched) held.end += 1n;
    this.#options.onStored?.(stored);
    return stored;
  }

  connect(send: Send = sendAtOnce): LogView {
    const ask: Ask = (what, serve) => send(what, serve, unavailable);
    return {
      endOffsets: (topic) => ask('ends', () => this.#heldOf(topic).map(({ end }) => end)),
      offsetsAt: (topic, timestampMs) => {
        const firstOf = ({ records }: HeldPartition) =>
          records.find((record) => record.timestampMs >= timestampMs)?.offset;
        return ask('times', () => this.#heldOf(topic).map(firstOf));
      },
      readLastRecords: (topic, partition) =>
        ask('feed end', () => (LogInMemory.hidesFeedEnd ? [] : this.records(topic, partition).slice(-16))),
      readRecords: ({ topic, partition }, offsets) =>
        ask('records', () => {
          const found = this.records(topic, partition).filter(({ offset }) => offsets.includes(offset));
          return new Map(found.map((record) => [record.offset, record]));
        }),
      readRange: (place, from = 0n, to = this.end(place.topic, place.partition)) =>
        this.#readRange(place, from, to, ask),
      followTopic: (options) => this.#follow(options, ask),
      createAppender: () => this.#openAppender(ask),
      createFencedPublisher: ({ transactionalId }) => this.#openPublisher(transactionalId, ask),
    };
  }

  #heldOf(topic: string): readonly HeldPartition[] {
    const held = this.#topics.get(topic);
    if (held !== undefined) return held;
    const empty = Array.from({ length: this.#options.partitions }, () => ({ records: [], end: 0n }));
    this.#topics.set(topic, empty);
    return empty;
  }

  #partition(topic: string, partition: number): HeldPartition {
    const held = this.#heldOf(topic)[partition];
    if (held === undefined) throw new Error(`${topic} has no partition ${partition}`);
    return held;
  }

  #follow(options: FollowOptions, ask: Ask): Following {
    const { topic, from } = options;
    const held = this.#heldOf(topic);
    const positions = held.map(({ end }, partition) => {
      return from === 'beginning' ? 0n : from === 'end' ? end : (from[partition] ?? 0n);
    });
    const { promise: caughtUp, resolve } = Promise.withResolvers<void>();
    const state = { isStopped: false, ends: [] as readonly bigint[] };
    const lookWhetherCaughtUp = () => {
      if (state.ends.every((end, partition) => (positions[partition] ?? 0n) >= end)) resolve();
    };
    const read = async (partition: number) => {
      for (;;) {
        const fetched = await this.#fetch(topic, partition, positions[partition] ?? 0n, ask);
        if (fetched.records.length > 0 && !state.isStopped) await options.onRecords(partition, fetched.records);
        if (state.isStopped) return;
        positions[partition] = fetched.end;
        options.onPosition?.(partition, fetched.end);
        lookWhetherCaughtUp();
      }
    };
    const start = async () => {
      state.ends = await this.#again(() => ask('ends', () => held.map(({ end }) => end)));
      lookWhetherCaughtUp();
      await Promise.all(positions.map((_, partition) => read(partition)));
    };
    start().catch((error: Error) => options.onFatal?.(error));
    return {
      caughtUp,
      positions: () => positions,
      lastPollAtMs: () => this.#options.nowMs?.() ?? 0,
      stop: async () => {
        state.isStopped = true;
      },
    };
  }

  async *#readRange({ topic, partition }: TopicPartition, from: bigint, to: bigint, ask: Ask) {
    const read = () => this.records(topic, partition).filter(({ offset }) => offset >= from && offset < to);
    const records = await ask('fetch', read);
    for (let at = 0; at < records.length; at += PIECE_RECORDS) {
      const piece = records.slice(at, at + PIECE_RECORDS);
      yield { records: piece, nextOffset: records[at + PIECE_RECORDS]?.offset ?? to };
    }
    if (records.length === 0 && from < to) yield { records, nextOffset: to };
  }

  /** Waits until there is something to read. */
  async #fetch(topic: string, partition: number, from: bigint, ask: Ask) {
    const held = this.#partition(topic, partition);
    while (held.end <= from) await new Promise<void>((resolve) => this.#waiting.add(resolve));
    const read = () => ({ records: held.records.filter(({ offset }) => offset >= from), end: held.end });
    return this.#again(() => ask('fetch', read));
  }

  /** Retries like the real follower, which retries until it is stopped. */
  async #again<T>(fetch: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await fetch();
      } catch (error) {
        if (!(error instanceof LogUnavailable)) throw error;
      }
    }
  }

  #openAppender(ask: Ask): Appender {
    const lost = LogInMemory.losesType;
    const isLost = ({ headers }: LogRecord) => lost !== undefined && headers['ce_type']?.includes(lost) === true;
    const store = (records: readonly LogRecord[]) => {
      if (records.some(isLost)) return records.map(() => ({ partition: 0, offset: 0n, timeMs: 0 }));
      const isTransaction = new Set(records.map(({ partition }) => partition)).size > 1;
      return this.store(records, isTransaction).map(placeOf);
    };
    return {
      append: (records) => ask('append', () => store(records)),
      close: async () => undefined,
    };
  }

  #openPublisher(id: string, ask: Ask): FencedPublisher {
    let own = 0;
    /** An append had no answer. The next one raises the epoch, so that what is in flight is refused. */
    let isDoubtful = false;
    const newest = () => this.#publishers.get(id) ?? 0;
    const assertHolds = (epoch: number) => {
      if (epoch !== newest() && !LogInMemory.ignoresFence) throw new PublisherFenced('another one has taken over');
    };
    const takeOver = () =>
      ask('take over', () => {
        if (own > 0) assertHolds(own);
        own = newest() + (LogInMemory.raisesNoEpoch ? 0 : 1);
        this.#publishers.set(id, own);
      });
    const appendTo = async (records: readonly LogRecord[]): Promise<StoredRecord[]> => {
      const epoch = own;
      const stored: StoredRecord[] = [];
      const { batchRecordsMax = 500 } = this.#options;
      for (let at = 0; at < records.length; at += batchRecordsMax) {
        const store = () => {
          assertHolds(epoch);
          return this.store(records.slice(at, at + batchRecordsMax));
        };
        stored.push(...(await ask('append', store)));
      }
      return stored;
    };
    return {
      takeOver,
      append: async (records) => {
        if (own === 0 || isDoubtful) await takeOver();
        isDoubtful = true;
        const places = [...Map.groupBy(records, ({ topic, partition }) => `${topic}/${partition}`).values()];
        const outcomes = await Promise.allSettled(places.map(appendTo));
        const failed = outcomes.find((outcome) => outcome.status === 'rejected');
        if (failed !== undefined) throw failed.reason;
        isDoubtful = false;
        const stored = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
        // The offsets of a partition are in the order of its records.
        const byPartition = Map.groupBy(stored.map(placeOf), ({ partition }) => partition);
        return records.flatMap(({ partition }) => byPartition.get(partition)?.shift() ?? []);
      },
      publish: async (records) => {
        const appended: AppendedAt[] = [];
        for (const whole of transactionsOf(records)) {
          const publish = () => {
            assertHolds(own);
            const stored = this.store(whole, true);
            this.published.push(...stored);
            appended.push(...stored.map(placeOf));
          };
          const publishing = ask('publish', publish);
          if (LogInMemory.answersTooEarly) publishing.catch(() => undefined);
          else await publishing;
        }
        return appended;
      },
      close: async () => undefined,
    };
  }
}

function placeOf({ partition, offset, timestampMs: timeMs }: StoredRecord): AppendedAt {
  return { partition, offset, timeMs };
}

function transactionsOf(records: readonly LogRecord[]): LogRecord[][] {
  if (LogInMemory.splitsTransactions) return [...Map.groupBy(records, ({ topic }) => topic).values()];
  if (!LogInMemory.publishesClocksFirst) return [[...records]];
  return [records.toSorted((a, b) => Number(b.key.startsWith('clock:')) - Number(a.key.startsWith('clock:')))];
}
