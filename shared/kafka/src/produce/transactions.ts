import { addPartitionsToTxnV3, endTxnV3, initProducerIdV4 } from '@platformatic/kafka';
import type { Broker } from '../cluster/broker.js';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, retryUntil } from '../cluster/deadline.js';
import { isRefused, isTransient, KafkaRefused } from '../cluster/error-codes.js';
import { LogUnavailable, PublisherFenced, RecordTooLarge, unavailable } from '../failures.js';
import type { AppendedAt, FencedPublisher, FencedPublisherOptions, LogRecord, TopicPartition } from '../log.js';
import { cut, type ProducerId, SEQUENCE_MODULUS } from './encode-batch.js';
import { BatchStore, placeOf } from './store-batches.js';

const SOON_MS = 2;
/** The broker aborts a transaction that stays open this long, or `timeoutMs` if that is longer. */
const TRANSACTION_TIMEOUT_MS_MIN = 10_000;
/** A coordinator forgets an id, and whom to fence, after a week without a request. Batches send it none. */
const HELD_MS_MAX = 24 * 3_600_000;
/** The last epoch of a producer id. Nothing is published under it, because the next producer id would not fence it. */
const EPOCH_MAX = 32_766;

/**
 * Publishes under one transactional id, one call at a time, in order. Only the latest Transactor of the id can publish.
 * A single record batch for an own partition is stored without a transaction, and so is all that `append` gets.
 *
 * The coordinator fences transactions. The leader of a partition fences batches: it refuses an epoch older than it has
 * seen. So each new epoch first writes the marker of an empty transaction to the own partitions.
 *
 * After a failure the Transactor aborts the transaction and takes a new epoch *as the same holder*. The broker refuses
 * both if another has taken over. It also refuses what is still in flight under the former epoch. So a fenced holder
 * never fences its successor, whatever it retries, and readers wait at a broken transaction only until it is aborted.
 *
 * | state | when | what the next call does first |
 * |---|---|---|
 * | clean | an id is held and nothing is open under it | nothing |
 * | clean, ending | a transaction was committed last | before a batch: waits for the transaction's markers |
 * | not clean | no id is held, or a call has failed | aborts, takes a new epoch, fences the own partitions |
 * | fenced | another has taken over | throws PublisherFenced, as every later call |
 */
export class Transactor implements FencedPublisher {
  readonly #cluster: Cluster;
  readonly #options: Required<FencedPublisherOptions>;
  readonly #transactional: BatchStore;
  readonly #batches: BatchStore;
  #takenId: ProducerId | undefined;
  /** No transaction is open under the id and no batch is in flight, as far as is known. */
  #isClean = false;
  /** The last transaction may lack its markers. Until then its partitions take no batches outside transactions. */
  #isEnding = false;
  #renewal = deadlineIn(HELD_MS_MAX);
  /** A request for a new epoch had no answer: the held epoch may be over. */
  #isEpochUncertain = false;
  /** True once something of the current call may be stored. */
  #isCommitting = false;
  #sequences = new Map<string, number>();
  #fencedBy: PublisherFenced | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** @param batches stores what is in no transaction; several publishers share its requests */
  constructor(cluster: Cluster, options: FencedPublisherOptions, batches = new BatchStore(cluster)) {
    this.#cluster = cluster;
    this.#options = { timeoutMs: 5_000, ownPartitions: [], isCompressed: false, ...options };
    this.#transactional = new BatchStore(cluster, { transactionalId: options.transactionalId });
    this.#batches = batches;
  }

  readonly takeOver = (): Promise<void> => this.#inTurn(async (deadline) => void (await this.#ensureId(deadline)));

  readonly publish = async (records: readonly LogRecord[]): Promise<readonly AppendedAt[]> => {
    const [first] = records;
    if (first === undefined) return [];
    return this.#inTurn((deadline) => {
      const isOfFirst = ({ topic, partition }: LogRecord) => topic === first.topic && partition === first.partition;
      const isOneBatch = this.#isOwn(first) && records.every(isOfFirst) && cut(records).length === 1;
      return isOneBatch ? this.#storeBatches(records, deadline) : this.#commit(records, deadline);
    });
  };

  readonly append = async (records: readonly LogRecord[]): Promise<readonly AppendedAt[]> => {
    const foreign = records.find((record) => !this.#isOwn(record));
    if (foreign !== undefined) throw new TypeError(`${placeOf(foreign)} is not fenced: use publish`);
    return records.length === 0 ? [] : this.#inTurn((deadline) => this.#storeBatches(records, deadline));
  };

  /** Takes up `offsets` (above zero) of a partition with an aborted transaction, which leaves nothing to read. */
  readonly skip = (place: TopicPartition, offsets: number): Promise<void> =>
    this.#inTurn(async (deadline) => {
      const producer = await this.#ensureId(deadline);
      this.#isClean = false;
      await this.#addPartitions(producer, [place], deadline);
      // Use one record for all: there may be millions.
      const blank: LogRecord = { ...place, key: '', value: null, headers: {} };
      const blanks = new Array<LogRecord>(offsets - 1).fill(blank);
      await this.#write(this.#transactional, producer, blanks, deadline);
      // The marker takes the last offset.
      await this.#abort(producer, deadline);
      this.#isClean = true;
    });

  readonly close = async (): Promise<void> => {
    this.#isClosed = true;
    await this.#last;
  };

  #inTurn<T>(work: (deadline: Deadline) => Promise<T>): Promise<T> {
    const { transactionalId, timeoutMs } = this.#options;
    if (this.#isClosed) return Promise.reject(unavailable(`the publisher ${transactionalId} is closed`));
    const deadline = deadlineIn(timeoutMs);
    const done = this.#last.then(async () => {
      this.#isCommitting = false;
      try {
        if (deadline.passed()) throw unavailable('the calls before this one took all its time');
        return await work(deadline);
      } catch (error) {
        throw this.#translate(error);
      }
    });
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Stores the records as one transaction. */
  async #commit(records: readonly LogRecord[], deadline: Deadline): Promise<readonly AppendedAt[]> {
    const producer = await this.#ensureId(deadline);
    this.#isClean = false;
    let appended: readonly AppendedAt[];
    try {
      await this.#addPartitions(producer, records, deadline);
      appended = await this.#write(this.#transactional, producer, records, deadline);
    } catch (error) {
      if (!deadline.passed()) await this.#ensureId(deadline).catch(() => undefined);
      throw error;
    }
    this.#isCommitting = true;
    await this.#end(producer, true, deadline);
    this.#isClean = true;
    this.#isEnding = true;
    return appended;
  }

  /** Stores record batches in own partitions: one request instead of three, no marker, and nothing is left open. */
  async #storeBatches(records: readonly LogRecord[], deadline: Deadline): Promise<readonly AppendedAt[]> {
    const producer = await this.#ensureId(deadline);
    if (this.#isEnding) {
      await this.#end(producer, true, deadline);
      this.#isEnding = false;
    }
    this.#isClean = false;
    this.#isCommitting = true;
    const appended = await this.#write(this.#batches, producer, records, deadline);
    this.#isClean = true;
    return appended;
  }

  #isOwn({ topic, partition }: TopicPartition): boolean {
    return this.#options.ownPartitions.some((own) => own.topic === topic && own.partition === partition);
  }

  async #ensureId(deadline: Deadline): Promise<ProducerId> {
    if (this.#fencedBy !== undefined) throw this.#fencedBy;
    while (this.#takenId === undefined || !this.#isClean || this.#renewal.passed()) {
      this.#isClean = false;
      this.#takenId = await this.#takeId(deadline);
      this.#sequences = new Map();
      await this.#fence(this.#takenId, deadline);
      this.#renewal = deadlineIn(HELD_MS_MAX);
      this.#isClean = this.#takenId.epoch < EPOCH_MAX;
    }
    return this.#takenId;
  }

  /**
   * Fences every earlier holder of the id. If this Transactor holds the id already, aborts its transaction and takes a
   * new epoch. Both are refused if another has taken over.
   *
   * The abort comes first: up to Kafka 3.9, a request for an epoch while a transaction is open fences the id's holder,
   * even a successor. It is left out if the last such request had no answer.
   */
  async #takeId(deadline: Deadline): Promise<ProducerId> {
    const { transactionalId, timeoutMs } = this.#options;
    const transactionTimeoutMs = Math.max(TRANSACTION_TIMEOUT_MS_MIN, timeoutMs);
    const { id, epoch } = this.#takenId ?? { id: -1n, epoch: -1 };
    if (this.#takenId !== undefined && !this.#isEpochUncertain) await this.#end(this.#takenId, false, deadline);
    return this.#atCoordinator(deadline, async (broker, attempt) => {
      try {
        const { api } = initProducerIdV4;
        const taken = await broker.call(api, attempt, transactionalId, transactionTimeoutMs, id, epoch);
        this.#isEpochUncertain = false;
        return { id: taken.producerId, epoch: taken.producerEpoch };
      } catch (error) {
        // A refusal does not tell what became of a request before it.
        this.#isEpochUncertain ||= !(error instanceof KafkaRefused);
        throw error;
      }
    });
  }

  /** Fences the own partitions. Waits for the markers: until then an older epoch's batch may still be stored. */
  async #fence(producer: ProducerId, deadline: Deadline): Promise<void> {
    const { ownPartitions } = this.#options;
    this.#isEnding = false;
    if (ownPartitions.length === 0) return;
    await this.#addPartitions(producer, ownPartitions, deadline);
    await this.#abort(producer, deadline);
  }

  /** Aborts the open transaction, and waits until its partitions have their markers. */
  async #abort(producer: ProducerId, deadline: Deadline): Promise<void> {
    await this.#end(producer, false, deadline);
    await this.#end(producer, false, deadline);
  }

  async #addPartitions(producer: ProducerId, places: readonly TopicPartition[], deadline: Deadline): Promise<void> {
    const topics = [...Map.groupBy(places, ({ topic }) => topic)].map(([name, ofTopic]) => ({
      name,
      partitions: [...new Set(ofTopic.map(({ partition }) => partition))],
    }));
    const { transactionalId } = this.#options;
    const { id: producerId, epoch: producerEpoch } = producer;
    const transaction = { transactionalId, producerId, producerEpoch, verifyOnly: false, topics };
    await this.#atCoordinator(deadline, (broker, attempt) =>
      broker.call(addPartitionsToTxnV3.api, attempt, [transaction]),
    );
  }

  /**
   * Ends the open transaction, if any. The coordinator answers before the partitions have their markers. A second
   * request is harmless, and its answer waits for the markers.
   */
  #end({ id, epoch }: ProducerId, isCommit: boolean, deadline: Deadline): Promise<void> {
    const { transactionalId } = this.#options;
    return this.#atCoordinator(deadline, async (broker, attempt) => {
      try {
        await broker.call(endTxnV3.api, attempt, transactionalId, id, epoch, isCommit);
      } catch (error) {
        // There is nothing to abort if none was begun, its commit was accepted, or the broker has forgotten the id.
        if (isCommit || !isRefused(error, 'INVALID_TXN_STATE', 'INVALID_PRODUCER_ID_MAPPING')) throw error;
      }
    });
  }

  /** Writes to partitions in parallel, and to each partition one record batch at a time. */
  async #write(
    store: BatchStore,
    producer: ProducerId,
    records: readonly LogRecord[],
    deadline: Deadline,
  ): Promise<readonly AppendedAt[]> {
    const { isCompressed } = this.#options;
    const at = new Map<LogRecord, AppendedAt>();
    const byPlace = Map.groupBy(records, placeOf);
    const written = await Promise.allSettled(
      Array.from(byPlace, async ([place, ofPlace]) => {
        const [{ topic, partition }] = ofPlace as [LogRecord];
        for (const chunk of cut(ofPlace)) {
          const sequence = this.#sequences.get(place) ?? 0;
          const batch = { topic, partition, ...chunk, producer: { ...producer, sequence }, isCompressed };
          const { offset, timeMs } = await store.store(batch, deadline);
          for (const [n, record] of chunk.records.entries())
            at.set(record, { partition, offset: offset + BigInt(n), timeMs });
          this.#sequences.set(place, (sequence + chunk.records.length) % SEQUENCE_MODULUS);
        }
      }),
    );
    // Wait for all, so that nothing is in flight when the caller gets the error.
    const failed = written.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return records.flatMap((record) => at.get(record) ?? []);
  }

  /** Asks the coordinator, and asks again until the deadline while it moves or finishes the last transaction. */
  #atCoordinator<R>(deadline: Deadline, ask: (broker: Broker, attempt: Deadline) => Promise<R>): Promise<R> {
    const cluster = this.#cluster;
    const { transactionalId } = this.#options;
    const attempt = async () => {
      const broker = await cluster.coordinatorOf('TRANSACTION', transactionalId, deadline);
      const once = () => ask(broker, deadline.half());
      return retryUntil(deadline, once, (error) => isRefused(error, 'CONCURRENT_TRANSACTIONS'), SOON_MS).catch(
        (error: unknown) => {
          cluster.forgetCoordinator(transactionalId);
          throw error;
        },
      );
    };
    return retryUntil(deadline, attempt, isTransient);
  }

  #translate(error: unknown): Error {
    const { transactionalId } = this.#options;
    if (error instanceof RecordTooLarge || error instanceof PublisherFenced) return error;
    const { message } = error as Error;
    const refusal = error instanceof LogUnavailable ? error.cause : error;
    if (isRefused(refusal, 'INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED')) {
      const explained = `${transactionalId} is held by another publisher now: ${message}`;
      this.#fencedBy = new PublisherFenced(explained, { cause: error });
      return this.#fencedBy;
    }
    const options = { mayHaveBeenAppended: this.#isCommitting, cause: error };
    return new LogUnavailable(`publishing as ${transactionalId} failed: ${message}`, options);
  }
}
