import { addPartitionsToTxnV3, endTxnV3 } from '@platformatic/kafka';
import type { Broker } from '../cluster/broker.js';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, retryUntil } from '../cluster/deadline.js';
import { assertAccepted, coordinatorMoved, KafkaRefused, NO_ERROR, nameOfCode } from '../cluster/error-codes.js';
import { LogUnavailable, PublisherFenced, RecordTooLarge, unavailable } from '../failures.js';
import type { AppendedAt, FencedPublisher, FencedPublisherOptions, LogRecord, TopicPartition } from '../log.js';
import { bytesOf } from './encode-batch.js';
import { type ProducerId, placeOf, sequenceAfter, takeProducerId } from './produce-request.js';
import { BatchStore } from './store-batches.js';

const SOON_MS = 2;
const LATER_MS = 50;
const ATTEMPT_MS_MIN = 500;
const TRANSACTION_TIMEOUT_MS_MIN = 10_000;
/** What is sent at once to a partition: a record batch has a maximum size, a transaction has none. */
const CHUNK_BYTES_MAX = 600_000;
/** A coordinator forgets an id that it hears nothing of for a week, and with it whom to fence; batches do not ask it. */
const HELD_MS_MAX = 24 * 3_600_000;
/** The last epoch of a producer id. Nothing is published under it, for the next id that is given out would not fence it. */
const EPOCH_MAX = 32_766;

const fenced: ReadonlySet<string> = new Set(['INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED']);
/** No transaction of the holder is open: none was begun, its commit was accepted, or the broker has forgotten the id. */
const nothingToAbort: ReadonlySet<string> = new Set(['INVALID_TXN_STATE', 'INVALID_PRODUCER_ID_MAPPING']);

/**
 * Publishes under one transactional id, one call at a time, in their order; only the latest that was opened under the id can
 * publish. What is one record batch of an own partition is stored as such, and so is what is appended; all else as a transaction.
 *
 * A transaction is fenced by its coordinator, a batch by the leader of its partition, which refuses an older epoch than it has
 * seen. So with each epoch the own partitions get the marker of an empty transaction, before anything else is done.
 *
 * After a failure the transaction is aborted and a new epoch opened *as the same holder*, at once where time is left, else
 * before the next call: the broker refuses both if another has taken over, and whatever of the former epoch is still on its
 * way to it. So a fenced holder never fences its successor, whatever it retries, and readers wait at a broken transaction no
 * longer than it takes to abort it. Many of them share connections and cost a few hundred bytes each.
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
  readonly #store: BatchStore;
  readonly #batches: BatchStore;
  #held: ProducerId | undefined;
  /** No transaction is open under the id and no batch is on its way, as far as is known. */
  #isClean = false;
  /** The last transaction may lack its markers: until it has them, its partitions refuse what is in none. */
  #isEnding = false;
  #renewal = deadlineIn(HELD_MS_MAX);
  /** A new epoch was asked for without an answer: the held one may have been followed by another that is ours. */
  #mayBeFollowed = false;
  /** Of the call under way something may be stored from now on. */
  #isCommitting = false;
  #sequences = new Map<string, number>();
  #fencedBy: PublisherFenced | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** @param batches stores what is in no transaction: batches of several publishers share its requests */
  constructor(cluster: Cluster, options: FencedPublisherOptions, batches = new BatchStore(cluster)) {
    this.#cluster = cluster;
    const { timeoutMs = 5_000 } = options;
    const transactionTimeoutMs = Math.max(TRANSACTION_TIMEOUT_MS_MIN, timeoutMs);
    this.#options = { timeoutMs, transactionTimeoutMs, ownPartitions: [], ...options };
    this.#store = new BatchStore(cluster, options.transactionalId);
    this.#batches = batches;
  }

  readonly takeOver = (): Promise<void> =>
    this.#inTurn(async (deadline) => {
      await this.#hold(deadline);
    });

  readonly publish = async (records: readonly LogRecord[]): Promise<void> => {
    await this.appendAtomically(records);
  };

  /** Publishes, and answers with the offsets of the records, in their order. */
  readonly appendAtomically = async (records: readonly LogRecord[]): Promise<readonly AppendedAt[]> => {
    if (records.length === 0) {
      return [];
    }
    return this.#inTurn((deadline) =>
      this.#isOneBatch(records) ? this.#append(records, deadline) : this.#run(records, deadline),
    );
  };

  readonly append = async (records: readonly LogRecord[]): Promise<readonly AppendedAt[]> => {
    const foreign = records.find((record) => !this.#isOwn(record));
    if (foreign !== undefined) {
      throw new TypeError(`${placeOf(foreign.topic, foreign.partition)} is not fenced: use publish`);
    }
    return records.length === 0 ? [] : this.#inTurn((deadline) => this.#append(records, deadline));
  };

  readonly close = async (): Promise<void> => {
    this.#isClosed = true;
    await this.#last;
  };

  #inTurn<T>(work: (deadline: Deadline) => Promise<T>): Promise<T> {
    const { transactionalId, timeoutMs } = this.#options;
    if (this.#isClosed) {
      return Promise.reject(unavailable(`the publisher ${transactionalId} is closed`));
    }
    const deadline = deadlineIn(timeoutMs);
    const done = this.#last.then(async () => {
      this.#isCommitting = false;
      try {
        if (deadline.passed()) {
          throw unavailable('the calls before this one took all its time');
        }
        return await work(deadline);
      } catch (error) {
        throw this.#translate(error);
      }
    });
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #run(records: readonly LogRecord[], deadline: Deadline): Promise<readonly AppendedAt[]> {
    const producer = await this.#hold(deadline);
    this.#isClean = false;
    let appended: readonly AppendedAt[];
    try {
      await this.#addPartitions(producer, records, deadline);
      appended = await this.#write(this.#store, producer, records, deadline);
    } catch (error) {
      if (!deadline.passed()) {
        await this.#hold(deadline).catch(() => undefined);
      }
      throw error;
    }
    this.#isCommitting = true;
    await this.#end(producer, true, deadline);
    this.#isClean = true;
    this.#isEnding = true;
    return appended;
  }

  #isOneBatch(records: readonly LogRecord[]): boolean {
    const [first] = records;
    const isOfFirst = ({ topic, partition }: TopicPartition) => topic === first?.topic && partition === first.partition;
    return first !== undefined && this.#isOwn(first) && records.every(isOfFirst) && cut(records).length === 1;
  }

  #isOwn({ topic, partition }: TopicPartition): boolean {
    return this.#options.ownPartitions.some((own) => own.topic === topic && own.partition === partition);
  }

  /**
   * One record batch is as atomic as a transaction, and fenced as well: one request instead of three, no marker, and none is
   * left open.
   */
  async #append(records: readonly LogRecord[], deadline: Deadline): Promise<readonly AppendedAt[]> {
    const producer = await this.#hold(deadline);
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

  /**
   * Ends the transaction that is open under the id, if any. The coordinator answers before its partitions have their markers;
   * to ask once more is harmless, and is answered when they have.
   */
  #end({ id, epoch }: ProducerId, isCommit: boolean, deadline: Deadline): Promise<void> {
    const { transactionalId } = this.#options;
    return this.#atCoordinator(deadline, async (broker, attempt) => {
      const answer = await broker.call(endTxnV3.api, attempt, transactionalId, id, epoch, isCommit);
      if (isCommit || !nothingToAbort.has(nameOfCode(answer.errorCode))) {
        assertAccepted(`${isCommit ? 'committing' : 'aborting'} a transaction`, answer.errorCode);
      }
    });
  }

  async #hold(deadline: Deadline): Promise<ProducerId> {
    if (this.#fencedBy !== undefined) {
      throw this.#fencedBy;
    }
    while (this.#held === undefined || !this.#isClean || this.#renewal.passed()) {
      this.#isClean = false;
      this.#held = await this.#takeId(deadline);
      this.#sequences = new Map();
      await this.#fence(this.#held, deadline);
      this.#renewal = deadlineIn(HELD_MS_MAX);
      this.#isClean = this.#held.epoch < EPOCH_MAX;
    }
    return this.#held;
  }

  /** Until the markers are there, a batch of an earlier epoch may still be stored. */
  async #fence(producer: ProducerId, deadline: Deadline): Promise<void> {
    const { ownPartitions } = this.#options;
    this.#isEnding = false;
    if (ownPartitions.length === 0) return;
    await this.#addPartitions(producer, ownPartitions, deadline);
    await this.#end(producer, false, deadline);
    await this.#end(producer, false, deadline);
  }

  /**
   * Fences every earlier holder of the id; where it is held already, aborts the holder's transaction and goes on as that
   * holder under a new epoch, or is refused when another has taken over since.
   *
   * The abort comes first: up to Kafka 3.9, who asks for an epoch while a transaction is open fences its holder, be it
   * himself or a successor. It is left out where the last such request had no answer: the held epoch may be over by it.
   */
  async #takeId(deadline: Deadline): Promise<ProducerId> {
    const { transactionalId, transactionTimeoutMs: timeoutMs } = this.#options;
    if (this.#held !== undefined && !this.#mayBeFollowed) {
      await this.#end(this.#held, false, deadline);
    }
    return this.#atCoordinator(deadline, async (broker, attempt) => {
      try {
        const taken = await takeProducerId(broker, attempt, { transactionalId, timeoutMs }, this.#held);
        this.#mayBeFollowed = false;
        return taken;
      } catch (error) {
        this.#mayBeFollowed = !(error instanceof KafkaRefused);
        throw error;
      }
    });
  }

  #translate(error: unknown): Error {
    const { transactionalId } = this.#options;
    if (error instanceof RecordTooLarge || error instanceof PublisherFenced) {
      return error;
    }
    const { message } = error as Error;
    const refused = error instanceof LogUnavailable ? error.cause : error;
    if (refused instanceof KafkaRefused && fenced.has(refused.reason)) {
      const explained = `${transactionalId} is held by another publisher now: ${message}`;
      this.#fencedBy = new PublisherFenced(explained, { cause: error });
      return this.#fencedBy;
    }
    const options = { mayHaveBeenAppended: this.#isCommitting, cause: error };
    return new LogUnavailable(`publishing as ${transactionalId} failed: ${message}`, options);
  }

  async #addPartitions(producer: ProducerId, places: readonly TopicPartition[], deadline: Deadline): Promise<void> {
    const topics = [...Map.groupBy(places, ({ topic }) => topic)].map(([name, ofTopic]) => ({
      name,
      partitions: [...new Set(ofTopic.map(({ partition }) => partition))],
    }));
    const { transactionalId } = this.#options;
    const { id: producerId, epoch: producerEpoch } = producer;
    await this.#atCoordinator(deadline, async (broker, attempt) => {
      const answer = await broker.call(addPartitionsToTxnV3.api, attempt, [
        { transactionalId, producerId, producerEpoch, verifyOnly: false, topics },
      ]);
      const refused = answer.resultsByTransaction
        .flatMap(({ topicResults }) => topicResults.flatMap(({ resultsByPartition }) => resultsByPartition))
        .map(({ partitionErrorCode }) => partitionErrorCode)
        .filter((code) => code !== NO_ERROR);
      // One bad partition leaves the others not attempted: the cause is thrown.
      const cause = refused.find((code) => nameOfCode(code) !== 'OPERATION_NOT_ATTEMPTED');
      assertAccepted('adding partitions to a transaction', cause ?? refused[0] ?? NO_ERROR);
    });
  }

  /** Partitions side by side, and of each one record batch after the other. */
  async #write(
    store: BatchStore,
    producer: ProducerId,
    records: readonly LogRecord[],
    deadline: Deadline,
  ): Promise<readonly AppendedAt[]> {
    const at = new Map<LogRecord, AppendedAt>();
    const byPlace = Map.groupBy(records, ({ topic, partition }) => placeOf(topic, partition));
    const written = await Promise.allSettled(
      Array.from(byPlace, async ([place, ofPlace]) => {
        const [{ topic, partition }] = ofPlace as [LogRecord];
        for (const chunk of cut(ofPlace)) {
          const batch = { producer, firstSequence: this.#sequences.get(place) ?? 0, records: chunk };
          const first = await store.store(topic, partition, deadline, () => batch);
          for (const [n, record] of chunk.entries()) at.set(record, { partition, offset: first + BigInt(n) });
          this.#sequences.set(place, sequenceAfter(batch.firstSequence, chunk.length));
        }
      }),
    );
    // Nothing is under way any more when the caller learns of it.
    const failed = written.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) {
      throw failed.reason;
    }
    return records.flatMap((record) => at.get(record) ?? []);
  }

  /** Asks the coordinator, again and again until the deadline while it moves or finishes the last transaction. */
  #atCoordinator<R>(deadline: Deadline, ask: (broker: Broker, attempt: Deadline) => Promise<R>): Promise<R> {
    const cluster = this.#cluster;
    const { transactionalId } = this.#options;
    const attempt = async () => {
      const broker = await cluster.coordinatorOf('TRANSACTION', transactionalId, deadline);
      // Half of what is left, so that a broker that hangs leaves time for another try.
      const once = () => ask(broker, deadline.half(ATTEMPT_MS_MIN));
      return retryUntil(deadline, SOON_MS, once, isConcurrent).catch((error: unknown) => {
        cluster.forgetCoordinator(transactionalId);
        throw error;
      });
    };
    const hasMoved = (error: unknown) => !(error instanceof KafkaRefused) || coordinatorMoved.has(error.reason);
    return retryUntil(deadline, LATER_MS, attempt, hasMoved);
  }
}

function isConcurrent(error: unknown): boolean {
  return error instanceof KafkaRefused && error.reason === 'CONCURRENT_TRANSACTIONS';
}

/** The records in their order, in chunks that fit into a record batch; at least one record each. */
function cut(records: readonly LogRecord[]): LogRecord[][] {
  const chunks: LogRecord[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const record of records) {
    const size = bytesOf(record);
    if (bytes + size > CHUNK_BYTES_MAX) {
      chunks.push([]);
      bytes = 0;
    }
    chunks.at(-1)?.push(record);
    bytes += size;
  }
  return chunks;
}
