import { addPartitionsToTxnV3, endTxnV3 } from '@platformatic/kafka';
import type { Broker } from '../cluster/broker.js';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, retryUntil } from '../cluster/deadline.js';
import { assertAccepted, coordinatorMoved, KafkaRefused, NO_ERROR, nameOfCode } from '../cluster/error-codes.js';
import { LogUnavailable, PublisherFenced, RecordTooLarge, unavailable } from '../failures.js';
import type { FencedPublisher, FencedPublisherOptions, LogRecord } from '../log.js';
import { bytesOf } from './encode-batch.js';
import { type ProducerId, placeOf, sequenceAfter, takeProducerId } from './produce-request.js';
import { BatchStore } from './store-batches.js';

const SOON_MS = 2;
const LATER_MS = 50;
const ATTEMPT_MS_MIN = 500;
/** What is sent at once to a partition: a record batch has a maximum size, a transaction has none. */
const CHUNK_BYTES_MAX = 600_000;

const fenced: ReadonlySet<string> = new Set(['INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED']);
/** No transaction of the holder is open: none was begun, its commit was accepted, or the broker has forgotten the id. */
const nothingToAbort: ReadonlySet<string> = new Set(['INVALID_TXN_STATE', 'INVALID_PRODUCER_ID_MAPPING']);

/**
 * Transactions under one transactional id, one at a time, in the order of the calls; only the latest that was opened under
 * the id can publish. After a failure the transaction is aborted and a new epoch opened *as the same holder*, at once where
 * time is left, else before the next transaction: the broker refuses both if another has taken over, and whatever of the
 * former epoch is still on its way to it. So a fenced holder never fences its successor, whatever it retries, and readers
 * wait at a broken transaction no longer than it takes to abort it. Many of them share connections and cost a few hundred
 * bytes each.
 */
export class Transactor implements FencedPublisher {
  readonly #cluster: Cluster;
  readonly #options: Required<FencedPublisherOptions>;
  readonly #store: BatchStore;
  #held: ProducerId | undefined;
  /** No transaction is open under the id, as far as is known. */
  #isClean = false;
  /** A new epoch was asked for without an answer: the held one may have been followed by another that is ours. */
  #mayBeFollowed = false;
  #sequences = new Map<string, number>();
  #fencedBy: PublisherFenced | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(cluster: Cluster, options: FencedPublisherOptions) {
    this.#cluster = cluster;
    this.#options = { timeoutMs: 5_000, transactionTimeoutMs: 10_000, ...options };
    this.#store = new BatchStore(cluster, options.transactionalId);
  }

  readonly takeOver = (): Promise<void> =>
    this.#inTurn(async (deadline) => {
      await this.#hold(deadline);
    });

  readonly publish = async (records: readonly LogRecord[]): Promise<void> => {
    if (records.length > 0) {
      await this.#inTurn((deadline, progress) => this.#run(records, deadline, progress));
    }
  };

  readonly close = async (): Promise<void> => {
    this.#isClosed = true;
    await this.#last;
  };

  #inTurn(work: (deadline: Deadline, progress: { isCommitting: boolean }) => Promise<void>): Promise<void> {
    const { transactionalId, timeoutMs } = this.#options;
    if (this.#isClosed) {
      return Promise.reject(unavailable(`the publisher ${transactionalId} is closed`));
    }
    const deadline = deadlineIn(timeoutMs);
    const progress = { isCommitting: false };
    const done = this.#last.then(async () => {
      try {
        if (deadline.passed()) {
          throw unavailable('the transactions before this one took all its time');
        }
        await work(deadline, progress);
      } catch (error) {
        throw this.#translate(error, progress.isCommitting);
      }
    });
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #run(records: readonly LogRecord[], deadline: Deadline, progress: { isCommitting: boolean }): Promise<void> {
    const { transactionalId } = this.#options;
    const producer = await this.#hold(deadline);
    this.#isClean = false;
    try {
      await this.#addPartitions(producer, records, deadline);
      await this.#write(producer, records, deadline);
    } catch (error) {
      if (!deadline.passed()) {
        await this.#hold(deadline).catch(() => undefined);
      }
      throw error;
    }
    progress.isCommitting = true;
    await this.#atCoordinator(deadline, async (broker, attempt) => {
      const answer = await broker.call(endTxnV3.api, attempt, transactionalId, producer.id, producer.epoch, true);
      assertAccepted('committing a transaction', answer.errorCode);
    });
    this.#isClean = true;
  }

  async #hold(deadline: Deadline): Promise<ProducerId> {
    if (this.#fencedBy !== undefined) {
      throw this.#fencedBy;
    }
    if (this.#held === undefined || !this.#isClean) {
      this.#held = await this.#takeId(deadline);
      this.#sequences = new Map();
      this.#isClean = true;
    }
    return this.#held;
  }

  /**
   * Fences every earlier holder of the id; where it is held already, aborts the holder's transaction and goes on as that
   * holder under a new epoch, or is refused when another has taken over since.
   *
   * The abort comes first: up to Kafka 3.9, who asks for an epoch while a transaction is open fences its holder, be it
   * himself or a successor. It is left out where the last such request had no answer: the held epoch may be over by it.
   */
  #takeId(deadline: Deadline): Promise<ProducerId> {
    const { transactionalId, transactionTimeoutMs: timeoutMs } = this.#options;
    return this.#atCoordinator(deadline, async (broker, attempt) => {
      if (this.#held !== undefined && !this.#mayBeFollowed) {
        await this.#abort(this.#held, broker, attempt);
      }
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

  async #abort({ id, epoch }: ProducerId, broker: Broker, deadline: Deadline): Promise<void> {
    const answer = await broker.call(endTxnV3.api, deadline, this.#options.transactionalId, id, epoch, false);
    if (!nothingToAbort.has(nameOfCode(answer.errorCode))) {
      assertAccepted('aborting a transaction', answer.errorCode);
    }
  }

  #translate(error: unknown, isCommitting: boolean): Error {
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
    const options = { mayHaveBeenAppended: isCommitting, cause: error };
    return new LogUnavailable(`a transaction of ${transactionalId} failed: ${message}`, options);
  }

  async #addPartitions(producer: ProducerId, records: readonly LogRecord[], deadline: Deadline): Promise<void> {
    const topics = [...Map.groupBy(records, ({ topic }) => topic)].map(([name, ofTopic]) => ({
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
  async #write(producer: ProducerId, records: readonly LogRecord[], deadline: Deadline): Promise<void> {
    const byPlace = Map.groupBy(records, ({ topic, partition }) => placeOf(topic, partition));
    const written = await Promise.allSettled(
      Array.from(byPlace, async ([place, ofPlace]) => {
        const [{ topic, partition }] = ofPlace as [LogRecord];
        for (const chunk of cut(ofPlace)) {
          const batch = { producer, firstSequence: this.#sequences.get(place) ?? 0, records: chunk };
          await this.#store.store(topic, partition, deadline, () => batch);
          this.#sequences.set(place, sequenceAfter(batch.firstSequence, chunk.length));
        }
      }),
    );
    // Nothing is under way any more when the caller learns of it.
    const failed = written.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) {
      throw failed.reason;
    }
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
