import { deadlineIn } from '../cluster/deadline.js';
import { PublisherFenced, RecordTooLarge, unavailable } from '../failures.js';
import type { AppendedAt, Appender, LogRecord } from '../log.js';
import { BATCH_BYTES_MAX, bytesOf, type ProducerId, type RecordBatch, SEQUENCE_MODULUS } from './encode-batch.js';
import { type BatchStore, placeOf } from './store-batches.js';
import type { Transactor } from './transactions.js';

const WAITING_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Group commit. The records of one call for one partition go into one batch, which other calls may share. A call for
 * several partitions, or with more records than a batch holds, becomes a transaction.
 *
 * Nothing is sent after a call has failed, but the broker may still store a request that it has received. Batches
 * without a producer id may be stored twice, if one is sent again after an unknown outcome.
 */
export class GroupCommit implements Appender {
  readonly #store: BatchStore;
  readonly #openTransactor: () => Transactor;
  readonly #timeoutMs: number;
  readonly #isCompressed: boolean;
  readonly #takeProducer: (() => Promise<ProducerId>) | undefined;
  #producer: Promise<ProducerId> | undefined;
  /** The sequence of the next record, by partition. */
  readonly #sequences = new Map<string, number>();
  readonly #calls = new Set<Promise<unknown>>();
  #transactor: Transactor;
  #waitingBytes = 0;
  #isClosed = false;

  /**
   * @param openTransactor opens a Transactor under an id that nobody else has, always the same one
   * @param takeProducer takes the producer id for batches; without it, batches have none
   */
  constructor(
    store: BatchStore,
    openTransactor: () => Transactor,
    { timeoutMs, isCompressed = false }: { readonly timeoutMs: number; readonly isCompressed?: boolean },
    takeProducer?: () => Promise<ProducerId>,
  ) {
    this.#takeProducer = takeProducer;
    this.#store = store;
    this.#openTransactor = openTransactor;
    this.#timeoutMs = timeoutMs;
    this.#isCompressed = isCompressed;
    this.#transactor = openTransactor();
  }

  readonly append = async (records: readonly LogRecord[]): Promise<readonly AppendedAt[]> => {
    const [first] = records;
    if (first === undefined) return [];
    if (this.#isClosed) throw unavailable('the appender is closed');
    const { topic, partition } = first;
    const isOfOne = records.every((record) => record.partition === partition && record.topic === topic);
    const bytes = records.reduce((sum, record) => sum + bytesOf(record), 0);
    const isBatch = isOfOne && (bytes <= BATCH_BYTES_MAX || records.length === 1);
    return isBatch ? this.#appendBatch(first, records, bytes) : this.#appendTransaction(records);
  };

  readonly close = async (): Promise<void> => {
    this.#isClosed = true;
    await Promise.allSettled([this.#transactor.close(), ...this.#calls]);
  };

  async #appendBatch(
    { topic, partition }: LogRecord,
    records: readonly LogRecord[],
    bytes: number,
  ): Promise<readonly AppendedAt[]> {
    if (bytes > BATCH_BYTES_MAX) throw new RecordTooLarge(`a record of ${bytes} bytes is above ${BATCH_BYTES_MAX}`);
    if (this.#waitingBytes + bytes > WAITING_BYTES_MAX) {
      throw unavailable(`${this.#waitingBytes} bytes are already waiting for Kafka`);
    }
    this.#waitingBytes += bytes;
    const batch = { topic, partition, records, bytes, isCompressed: this.#isCompressed };
    const call = this.#storeBatch(batch);
    this.#calls.add(call);
    try {
      const { offset, timeMs } = await call;
      return records.map((_, index) => ({ partition, offset: offset + BigInt(index), timeMs }));
    } finally {
      this.#waitingBytes -= bytes;
      this.#calls.delete(call);
    }
  }

  async #storeBatch(batch: RecordBatch): ReturnType<BatchStore['store']> {
    const deadline = deadlineIn(this.#timeoutMs);
    if (this.#takeProducer === undefined) return this.#store.store(batch, deadline);
    this.#producer ??= this.#takeProducer();
    const { id, epoch } = await this.#producer;
    const place = placeOf(batch);
    const sequence = this.#sequences.get(place) ?? 0;
    this.#sequences.set(place, (sequence + batch.records.length) % SEQUENCE_MODULUS);
    return this.#store.store({ ...batch, producer: { id, epoch, sequence } }, deadline);
  }

  async #appendTransaction(records: readonly LogRecord[]): Promise<readonly AppendedAt[]> {
    const transactor = this.#transactor;
    try {
      return await transactor.publish(records);
    } catch (error) {
      if (!(error instanceof PublisherFenced)) throw error;
      // Nobody else has this id: the broker has ended a transaction that took too long. Take the id again.
      if (this.#transactor === transactor) this.#transactor = this.#openTransactor();
      throw unavailable(error.message, error);
    }
  }
}
