import type { Cluster } from '../cluster/cluster.js';
import { deadlineIn } from '../cluster/deadline.js';
import { PublisherFenced, RecordTooLarge, unavailable } from '../failures.js';
import type { AppendedAt, Appender, AppenderOptions, LogRecord } from '../log.js';
import { bytesOf, NO_PRODUCER } from './encode-batch.js';
import { BATCH_BYTES_MAX, BatchStore } from './store-batches.js';
import { Transactor } from './transactions.js';

const WAITING_BYTES_MAX = 64 * 1024 * 1024;
const DEFAULTS: Required<AppenderOptions> = { lingerMs: 2, timeoutMs: 5_000 };

export interface AppenderParts {
  readonly cluster: Cluster;
  readonly transactions: Cluster;
  readonly transactionalId: string;
}

/**
 * Group commit. A call after an idle time is sent at once. Calls that arrive within `lingerMs` after it, or while a request to
 * their broker is in flight, share requests and batches, and the records of one call always lie in one batch. A call for
 * several partitions is a transaction.
 *
 * Nothing is sent after a call has failed, but the broker may still store a request that it has received. Batches have no
 * producer id: one that is sent again after an unknown outcome may be stored twice.
 */
export class GroupCommit implements Appender {
  readonly #parts: AppenderParts;
  readonly #options: Required<AppenderOptions>;
  readonly #store: BatchStore;
  readonly #calls = new Set<Promise<unknown>>();
  #transactor: Transactor;
  #waitingBytes = 0;
  #isClosed = false;

  constructor(parts: AppenderParts, options: AppenderOptions) {
    this.#parts = parts;
    this.#options = { ...DEFAULTS, ...options };
    this.#store = new BatchStore(parts.cluster, { lingerMs: this.#options.lingerMs });
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
    await Promise.allSettled([this.#transactor.close(), ...this.#calls]);
  };

  async #appendBatch({ topic, partition }: LogRecord, records: readonly LogRecord[]): Promise<readonly AppendedAt[]> {
    const bytes = records.reduce((sum, record) => sum + bytesOf(record), 0);
    if (bytes > BATCH_BYTES_MAX) {
      throw new RecordTooLarge(`${records.length} records of ${bytes} bytes do not fit into ${BATCH_BYTES_MAX}`);
    }
    if (this.#waitingBytes + bytes > WAITING_BYTES_MAX) {
      throw unavailable(`${this.#waitingBytes} bytes are already waiting for Kafka`);
    }
    const batch = { topic, partition, records, bytes, ...NO_PRODUCER };
    const call = this.#store.store(batch, deadlineIn(this.#options.timeoutMs));
    this.#waitingBytes += bytes;
    this.#calls.add(call);
    try {
      const base = await call;
      return records.map((_, index) => ({ partition, offset: base + BigInt(index) }));
    } finally {
      this.#waitingBytes -= bytes;
      this.#calls.delete(call);
    }
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
}
