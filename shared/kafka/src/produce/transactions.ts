import { addPartitionsToTxnV3, endTxnV3, initProducerIdV4 } from '@platformatic/kafka';
import type { Broker } from '../cluster/broker.js';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, deadlineIn, pause } from '../cluster/deadline.js';
import {
  assertAccepted,
  coordinatorMoved,
  KafkaRefused,
  leaderMoved,
  NO_ERROR,
  nameOfCode,
  tooLarge,
} from '../cluster/error-codes.js';
import { LogUnavailable, PublisherFenced, RecordTooLarge, unavailable } from '../failures.js';
import type { AppendedAt, FencedPublisher, FencedPublisherOptions, LogRecord } from '../log.js';
import {
  type BatchOutcome,
  bytesOf,
  type ProducerId,
  placeOf,
  type RecordBatch,
  sendBatches,
  sequenceAfter,
} from './produce-request.js';

const SOON_MS = 2;
const LATER_MS = 50;
const ATTEMPT_MS_MIN = 500;
/** What is sent at once: a record batch has a maximum size, a transaction has none. */
const PART_BYTES_MAX = 600_000;

const fenced: ReadonlySet<string> = new Set(['INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED']);

export interface TransactorOptions {
  readonly cluster: Cluster;
  readonly transactionalId: string;
  readonly transactionTimeoutMs: number;
  /**
   * Nobody else ever uses this id. Then it is the broker that fences its holder, when it has ended a transaction that
   * took too long: the id is taken anew, for else the process would never write a transaction again.
   */
  readonly isSole?: boolean;
}

/** The records of one partition, with their places in the call. */
interface Part extends RecordBatch {
  readonly indexes: readonly number[];
}

/**
 * Transactions under one transactional id, one at a time, in the order of the calls. After a failure the outcome of
 * which is unknown, the next call first opens a new epoch *as the same holder*: the broker aborts what was left
 * unfinished, and refuses if another has taken over. So a fenced holder never fences its successor, whatever it retries.
 */
export class Transactor {
  readonly #options: TransactorOptions;
  #held: ProducerId | undefined;
  /** No transaction is open under the id, as far as is known. */
  #isClean = false;
  #sequences = new Map<string, number>();
  #fencedBy: PublisherFenced | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: TransactorOptions) {
    this.#options = options;
  }

  /** Takes the id over now, if it is not held yet. Throws PublisherFenced or LogUnavailable. */
  async open(deadline: Deadline): Promise<void> {
    await this.#afterOthers(async () => {
      try {
        await this.#hold(deadline);
      } catch (error) {
        throw this.#translate(error, false);
      }
    });
  }

  /** All records in one transaction, however many. Throws PublisherFenced, LogUnavailable or RecordTooLarge. */
  async transact(records: readonly LogRecord[], deadline: Deadline): Promise<readonly AppendedAt[]> {
    if (this.#isClosed) {
      throw unavailable(`the publisher ${this.#options.transactionalId} is closed`);
    }
    return records.length === 0 ? [] : this.#afterOthers(() => this.#run(records, deadline));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
  }

  #afterOthers<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #run(records: readonly LogRecord[], deadline: Deadline): Promise<readonly AppendedAt[]> {
    const { transactionalId } = this.#options;
    let isCommitting = false;
    try {
      if (deadline.passed()) {
        throw unavailable(`the transactions of ${transactionalId} before this one took all its time`);
      }
      const producer = await this.#hold(deadline);
      this.#isClean = false;
      await this.#addPartitions(producer, records, deadline);
      const at: AppendedAt[] = [];
      for (const chunk of cut(records)) {
        at.push(...(await this.#sendAll(this.#intoParts(producer, chunk), deadline)));
      }
      isCommitting = true;
      await this.#atCoordinator(deadline, async (broker, attempt) => {
        const answer = await broker.call(endTxnV3.api, attempt, transactionalId, producer.id, producer.epoch, true);
        assertAccepted('committing a transaction', answer.errorCode);
      });
      this.#isClean = true;
      return at;
    } catch (error) {
      throw this.#translate(error, isCommitting);
    }
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
   * Fences every earlier holder of the id; where it is held already, goes on as that holder under a new epoch, or is
   * refused when another has taken over since.
   */
  async #takeId(deadline: Deadline): Promise<ProducerId> {
    const { transactionalId, transactionTimeoutMs, isSole } = this.#options;
    const take = (as: ProducerId = { id: -1n, epoch: -1 }) =>
      this.#atCoordinator(deadline, async (broker, attempt) => {
        const request = [transactionalId, transactionTimeoutMs, as.id, as.epoch] as const;
        const answer = await broker.call(initProducerIdV4.api, attempt, ...request);
        assertAccepted('opening a producer', answer.errorCode);
        return { id: answer.producerId, epoch: answer.producerEpoch };
      });
    try {
      return await take(this.#held);
    } catch (error) {
      if (isSole !== true || this.#held === undefined || !isFencing(error)) {
        throw error;
      }
      return take();
    }
  }

  #translate(error: unknown, isCommitting: boolean): Error {
    const { transactionalId, isSole } = this.#options;
    if (error instanceof RecordTooLarge || error instanceof PublisherFenced) {
      return error;
    }
    const { message } = error as Error;
    if (isFencing(error) && isSole !== true) {
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

  #intoParts(producer: ProducerId, records: readonly LogRecord[]): Part[] {
    const indexed = records.map((record, index) => ({ record, index }));
    const groups = Map.groupBy(indexed, ({ record }) => placeOf(record.topic, record.partition));
    return [...groups].map(([place, group]) => {
      const { topic, partition } = (group[0] as { record: LogRecord }).record;
      return {
        topic,
        partition,
        producer,
        firstSequence: this.#sequences.get(place) ?? 0,
        records: group.map((one) => one.record),
        indexes: group.map(({ index }) => index),
      };
    });
  }

  /** Stores every part, again and again until the deadline while leaders move. */
  async #sendAll(parts: readonly Part[], deadline: Deadline): Promise<readonly AppendedAt[]> {
    const at: AppendedAt[] = [];
    for (let left = parts; left.length > 0; ) {
      const outcomes = await this.#sendOnce(left, deadline);
      left = left.filter((part) => !this.#isStored(part, outcomes.get(placeOf(part.topic, part.partition)), at));
      if (left.length > 0) {
        if (deadline.leftMs() < LATER_MS) {
          throw unavailable('the leaders did not answer in time');
        }
        await pause(LATER_MS);
      }
    }
    return at;
  }

  async #sendOnce(parts: readonly Part[], deadline: Deadline): Promise<ReadonlyMap<string, BatchOutcome>> {
    const { cluster, transactionalId } = this.#options;
    const byLeader = new Map<Broker, Part[]>();
    for (const part of parts) {
      const leader = await cluster.leaderOf(part.topic, part.partition, deadline);
      byLeader.set(leader, [...(byLeader.get(leader) ?? []), part]);
    }
    const answers = await Promise.all(
      Array.from(byLeader, async ([leader, ofLeader]) => {
        try {
          return await sendBatches(leader, ofLeader, deadline.half(ATTEMPT_MS_MIN), transactionalId);
        } catch (error) {
          if (deadline.passed()) {
            throw error;
          }
          return new Map<string, BatchOutcome>();
        }
      }),
    );
    return new Map(answers.flatMap((answer) => [...answer]));
  }

  /** False when the part has to be sent again. */
  #isStored(part: Part, outcome: BatchOutcome | undefined, at: AppendedAt[]): boolean {
    const { topic, partition, records, firstSequence, indexes } = part;
    const place = placeOf(topic, partition);
    if (outcome === undefined || ('refused' in outcome && leaderMoved.has(outcome.refused))) {
      this.#options.cluster.forgetLayout(topic);
      return false;
    }
    if ('refused' in outcome) {
      if (tooLarge.has(outcome.refused)) {
        throw new RecordTooLarge(`${place} refused ${records.length} records as too large`);
      }
      throw new KafkaRefused(`writing to ${place}`, outcome.refused);
    }
    this.#sequences.set(place, sequenceAfter(firstSequence, records.length));
    indexes.forEach((index, within) => {
      at[index] = { partition, offset: outcome.baseOffset + BigInt(within) };
    });
    return true;
  }

  /** Asks the coordinator, again and again until the deadline while it moves or finishes the last transaction. */
  async #atCoordinator<R>(deadline: Deadline, ask: (broker: Broker, attempt: Deadline) => Promise<R>): Promise<R> {
    const { cluster, transactionalId } = this.#options;
    for (;;) {
      let waitMs = LATER_MS;
      try {
        const broker = await cluster.coordinatorOf('TRANSACTION', transactionalId, deadline);
        // Half of what is left, so that a broker that hangs leaves time for another try.
        return await ask(broker, deadline.half(ATTEMPT_MS_MIN));
      } catch (error) {
        const reason = error instanceof KafkaRefused ? error.reason : undefined;
        if (reason === 'CONCURRENT_TRANSACTIONS') {
          waitMs = SOON_MS;
        } else if (reason === undefined || coordinatorMoved.has(reason)) {
          cluster.forgetCoordinator(transactionalId);
        } else {
          throw error;
        }
        if (deadline.leftMs() <= waitMs) {
          throw error;
        }
      }
      await pause(waitMs);
    }
  }
}

/**
 * A publisher of which only the latest opened under its transactional id can publish. Many of them share connections
 * and cost a few hundred bytes each.
 */
export function openFencedPublisher(cluster: Cluster, options: FencedPublisherOptions): FencedPublisher {
  const { transactionalId, timeoutMs = 5_000, transactionTimeoutMs = 10_000 } = options;
  const transactor = new Transactor({ cluster, transactionalId, transactionTimeoutMs });
  return {
    takeOver: () => transactor.open(deadlineIn(timeoutMs)),
    publish: async (records) => {
      await transactor.transact(records, deadlineIn(timeoutMs));
    },
    close: () => transactor.close(),
  };
}

function isFencing(error: unknown): error is KafkaRefused {
  return error instanceof KafkaRefused && fenced.has(error.reason);
}

/** The records in their order, in chunks that fit into a record batch; at least one record each. */
function cut(records: readonly LogRecord[]): LogRecord[][] {
  const chunks: LogRecord[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const record of records) {
    const size = bytesOf(record);
    if (bytes + size > PART_BYTES_MAX) {
      chunks.push([]);
      bytes = 0;
    }
    chunks.at(-1)?.push(record);
    bytes += size;
  }
  return chunks;
}
