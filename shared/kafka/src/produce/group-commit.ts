import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, pause } from '../cluster/deadline.js';
import { PublisherFenced, RecordTooLarge, unavailable } from '../failures.js';
import type { AppendedAt, Appender, AppenderOptions, Logger, LogRecord } from '../log.js';
import { bytesOf, NO_PRODUCER } from './encode-batch.js';
import { BatchStore, placeOf } from './store-batches.js';
import { Transactor } from './transactions.js';

const BATCH_OVERHEAD_BYTES = 128;
const BATCH_BYTES_MAX = 900_000;
const WAITING_BYTES_MAX = 64 * 1024 * 1024;
const RETRY_PAUSE_MS = 50;
const DEFAULTS: Required<AppenderOptions> = { lingerMs: 2, timeoutMs: 5_000 };

export interface AppenderParts {
  readonly cluster: Cluster;
  readonly transactions: Cluster;
  readonly transactionalId: string;
  readonly logger: Logger;
}

interface Call {
  readonly records: readonly LogRecord[];
  readonly bytes: number;
  readonly deadline: Deadline;
  readonly answer: (at: readonly AppendedAt[]) => void;
  readonly refuse: (error: unknown) => void;
}

/** The calls for one partition: one batch at a time, so that records keep the order of the calls. */
interface Lane {
  readonly topic: string;
  readonly partition: number;
  readonly waiting: Call[];
  working: Promise<void> | undefined;
}

/**
 * Group commit. A call after an idle time is sent at once. Calls that arrive within `lingerMs` after it, or while a batch of
 * their partition or a request to their broker is in flight, share a batch. Records of a partition keep the order of the
 * calls, and the records of one call always lie in one batch. A call for several partitions is a transaction.
 *
 * Nothing is sent after a call has failed, but the broker may still store a request that it has received. Batches have no
 * producer id: one that is sent again after an unknown outcome may be stored twice.
 */
export class GroupCommit implements Appender {
  readonly #parts: AppenderParts;
  readonly #options: Required<AppenderOptions>;
  readonly #store: BatchStore;
  readonly #lanes = new Map<string, Lane>();
  #transactor: Transactor;
  #gathering: Promise<void> | undefined;
  #begunAtMs = Number.NEGATIVE_INFINITY;
  #waitingBytes = 0;
  #isClosed = false;

  constructor(parts: AppenderParts, options: AppenderOptions) {
    this.#parts = parts;
    this.#options = { ...DEFAULTS, ...options };
    this.#store = new BatchStore(parts.cluster);
    this.#transactor = this.#openTransactor();
  }

  readonly append = async (records: readonly LogRecord[]): Promise<readonly AppendedAt[]> => {
    const [first] = records;
    if (first === undefined) return [];
    if (this.#isClosed) throw unavailable('the appender is closed');
    const { topic, partition } = first;
    const isOfOne = records.every((record) => record.partition === partition && record.topic === topic);
    return isOfOne ? this.#appendBatch(first, records) : this.#appendTransaction(records);
  };

  /** For tests: produce requests and record batches that were sent. */
  get counts(): { readonly requests: number; readonly batches: number } {
    return this.#store.counts;
  }

  readonly close = async (): Promise<void> => {
    this.#isClosed = true;
    await Promise.all([this.#transactor.close(), ...Array.from(this.#lanes.values(), ({ working }) => working)]);
  };

  #appendBatch(first: LogRecord, records: readonly LogRecord[]): Promise<readonly AppendedAt[]> {
    const bytes = records.reduce((sum, record) => sum + bytesOf(record), BATCH_OVERHEAD_BYTES);
    if (bytes > BATCH_BYTES_MAX) {
      throw new RecordTooLarge(`${records.length} records of ${bytes} bytes do not fit into ${BATCH_BYTES_MAX}`);
    }
    if (this.#waitingBytes + bytes > WAITING_BYTES_MAX) {
      throw unavailable(`${this.#waitingBytes} bytes are already waiting for Kafka`);
    }
    this.#waitingBytes += bytes;
    const { promise, resolve: answer, reject: refuse } = Promise.withResolvers<readonly AppendedAt[]>();
    const lane = this.#laneOf(first);
    lane.waiting.push({ records, bytes, deadline: deadlineIn(this.#options.timeoutMs), answer, refuse });
    lane.working ??= this.#work(lane);
    return promise;
  }

  async #appendTransaction(records: readonly LogRecord[]): Promise<readonly AppendedAt[]> {
    const transactor = this.#transactor;
    try {
      return await transactor.publish(records);
    } catch (error) {
      if (!(error instanceof PublisherFenced)) throw error;
      // Nobody else has this id: the broker has ended a transaction that took too long. Take the id anew.
      if (this.#transactor === transactor) this.#transactor = this.#openTransactor();
      throw unavailable(error.message, error);
    }
  }

  #openTransactor(): Transactor {
    const { transactions, transactionalId } = this.#parts;
    return new Transactor(transactions, { transactionalId, timeoutMs: this.#options.timeoutMs });
  }

  #laneOf({ topic, partition }: LogRecord): Lane {
    const place = placeOf(topic, partition);
    let lane = this.#lanes.get(place);
    if (lane === undefined) {
      lane = { topic, partition, waiting: [], working: undefined };
      this.#lanes.set(place, lane);
    }
    return lane;
  }

  async #work(lane: Lane): Promise<void> {
    this.#gathering ??= this.#gather();
    await this.#gathering;
    for (let [first] = lane.waiting; first !== undefined; [first] = lane.waiting) {
      await this.#storeNext(lane, lane.waiting, first.deadline);
    }
    lane.working = undefined;
  }

  /** Ends after this turn, or `lingerMs` after the last time: all lanes that begin meanwhile share it. */
  async #gather(): Promise<void> {
    const leftMs = this.#begunAtMs + this.#options.lingerMs - performance.now();
    await (leftMs > 0 ? pause(leftMs) : nextTurn());
    this.#begunAtMs = performance.now();
    this.#gathering = undefined;
  }

  /** Stores the first calls of a queue, which may grow until the request is sent, as one batch. */
  async #storeNext(lane: Lane, queue: Call[], deadline: Deadline): Promise<void> {
    const { topic, partition } = lane;
    const calls: Call[] = [];
    const pack = () => {
      if (calls.length === 0) calls.push(...takeBatch(queue));
      return { ...NO_PRODUCER, records: calls.flatMap(({ records }) => records) };
    };
    try {
      let offset = await this.#store.store(topic, partition, deadline, pack);
      for (const { records, bytes, answer } of calls) {
        this.#waitingBytes -= bytes;
        const base = offset;
        answer(records.map((_, index) => ({ partition, offset: base + BigInt(index) })));
        offset += BigInt(records.length);
      }
    } catch (error) {
      if (error instanceof RecordTooLarge && calls.length > 1) {
        for (const call of calls) await this.#storeNext(lane, [call], call.deadline);
      } else this.#refuse(lane, calls.length === 0 ? takeLate(queue) : calls, error as Error);
    }
  }

  #refuse({ topic, partition }: Lane, calls: readonly Call[], error: Error): void {
    this.#parts.logger.warn({ topic, partition, calls: calls.length, error: error.message }, 'appends were refused');
    for (const { bytes, refuse } of calls) {
      this.#waitingBytes -= bytes;
      refuse(error);
    }
  }
}

/** Takes as many calls, in their order, as fit into one batch. */
function takeBatch(queue: Call[]): readonly Call[] {
  let bytes = 0;
  const behind = queue.findIndex((call, index) => {
    bytes += call.bytes;
    return index > 0 && bytes > BATCH_BYTES_MAX;
  });
  return queue.splice(0, behind < 0 ? queue.length : behind);
}

/** Takes the first call, whose time is over, and those behind it that have no time for another try. */
function takeLate(queue: Call[]): readonly Call[] {
  const behind = queue.findIndex(({ deadline }, index) => index > 0 && deadline.leftMs() >= RETRY_PAUSE_MS);
  return queue.splice(0, behind < 0 ? queue.length : behind);
}
