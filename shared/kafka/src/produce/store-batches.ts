import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Broker } from '../cluster/broker.js';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, retryUntil, within } from '../cluster/deadline.js';
import { KafkaRefused, outcomeUnknown, storableAgain, tooLarge } from '../cluster/error-codes.js';
import { LogUnavailable, RecordTooLarge } from '../failures.js';
import type { LogRecord } from '../log.js';
import { encodeBatch } from './encode-batch.js';
import { type BatchOutcome, type EncodedBatch, type ProducerId, placeOf, sendBatches } from './produce-request.js';

const RETRY_PAUSE_MS = 50;
const ATTEMPT_MS_MIN = 500;
/** A request takes no further batch from here on. */
const REQUEST_BYTES = 8 * 1024 * 1024;

/** The records of one partition, stored all or none. */
export interface RecordBatch {
  readonly producer: ProducerId;
  readonly firstSequence: number;
  readonly records: readonly LogRecord[];
}

/** A batch on its way into a request. */
interface Parcel {
  readonly topic: string;
  readonly partition: number;
  readonly deadline: Deadline;
  readonly pack: () => RecordBatch;
  readonly answer: (outcome: BatchOutcome) => void;
  readonly refuse: (error: unknown) => void;
  isSent: boolean;
}

/**
 * Stores record batches. To each broker one request is under way: batches that come meanwhile share the next one, and
 * are packed as late as that. A batch is sent again only under its own sequence, and only until its deadline.
 */
export class BatchStore {
  readonly #cluster: Cluster;
  readonly #transactionalId: string | undefined;
  readonly #queues = new Map<Broker, Parcel[]>();
  readonly counts = { requests: 0, batches: 0 };

  constructor(cluster: Cluster, transactionalId?: string) {
    this.#cluster = cluster;
    this.#transactionalId = transactionalId;
  }

  /**
   * Stores one batch of a partition, which has no other under way, and answers with its first offset.
   * Throws RecordTooLarge or LogUnavailable, with the broker's refusal as its cause where there is one.
   * @param pack the same batch each time; never called where no leader was found
   */
  async store(topic: string, partition: number, deadline: Deadline, pack: () => RecordBatch): Promise<bigint> {
    let mayBeStored = false;
    const attempt = async () => {
      try {
        const leader = await this.#cluster.leaderOf(topic, partition, deadline);
        // Half of what is left, so that a broker that hangs leaves time for another try.
        const outcome = await this.#offer(leader, { topic, partition, deadline: deadline.half(ATTEMPT_MS_MIN), pack });
        if ('refused' in outcome) {
          throw new KafkaRefused(`writing to ${placeOf(topic, partition)}`, outcome.refused);
        }
        return outcome.baseOffset;
      } catch (error) {
        mayBeStored ||=
          error instanceof KafkaRefused
            ? outcomeUnknown.has(error.reason)
            : error instanceof LogUnavailable && error.mayHaveBeenAppended;
        this.#cluster.forgetLayout(topic);
        throw error;
      }
    };
    const isWorthIt = (error: unknown) => !(error instanceof KafkaRefused) || storableAgain.has(error.reason);
    return retryUntil(deadline, RETRY_PAUSE_MS, attempt, isWorthIt).catch((error: Error) => {
      throw error instanceof KafkaRefused && tooLarge.has(error.reason)
        ? new RecordTooLarge(`${error.message}, too large`)
        : new LogUnavailable(error.message, { mayHaveBeenAppended: mayBeStored, cause: error });
    });
  }

  #offer(broker: Broker, wanted: Pick<Parcel, 'topic' | 'partition' | 'deadline' | 'pack'>): Promise<BatchOutcome> {
    const { promise, resolve: answer, reject: refuse } = Promise.withResolvers<BatchOutcome>();
    const parcel: Parcel = { ...wanted, answer, refuse, isSent: false };
    const queue = this.#queues.get(broker);
    if (queue === undefined) {
      void this.#serve(broker, [parcel]);
    } else {
      queue.push(parcel);
    }
    const late = () => new LogUnavailable('no answer in time', { mayHaveBeenAppended: parcel.isSent });
    return within(parcel.deadline, promise, late);
  }

  async #serve(broker: Broker, queue: Parcel[]): Promise<void> {
    this.#queues.set(broker, queue);
    while (queue.length > 0) {
      // Whoever was answered by the last request, or begins in this turn, goes along.
      await nextTurn();
      const sent = new Map<Parcel, EncodedBatch>();
      for (let bytes = 0; bytes < REQUEST_BYTES && queue.length > 0; ) {
        const parcel = queue.shift();
        // One that is late was refused already.
        if (parcel?.deadline.passed() === false) {
          const batch = this.#encode(parcel);
          sent.set(parcel, batch);
          bytes += batch.bytes.length;
        }
      }
      if (sent.size > 0) {
        await this.#send(broker, sent);
      }
    }
    this.#queues.delete(broker);
  }

  #encode(parcel: Parcel): EncodedBatch {
    const { topic, partition, pack } = parcel;
    const { records, firstSequence, producer } = pack();
    parcel.isSent = true;
    const isTransactional = this.#transactionalId !== undefined;
    // The wall clock stamps the records, as in every Kafka client; nothing here decides by it.
    const stamp = { isTransactional, timestampMs: Date.now() };
    const head = { firstSequence, producerId: producer.id, producerEpoch: producer.epoch, ...stamp };
    return { topic, partition, bytes: encodeBatch(records, head) };
  }

  async #send(broker: Broker, sent: ReadonlyMap<Parcel, EncodedBatch>): Promise<void> {
    this.counts.requests += 1;
    this.counts.batches += sent.size;
    const parcels = [...sent.keys()];
    const soonest = parcels.map(({ deadline }) => deadline).reduce((one, other) => one.sooner(other));
    try {
      const outcomes = await sendBatches(broker, [...sent.values()], soonest, this.#transactionalId);
      for (const { topic, partition, answer } of parcels) {
        answer(outcomes.get(placeOf(topic, partition)) ?? { refused: 'REQUEST_TIMED_OUT' });
      }
    } catch (error) {
      for (const { refuse } of parcels) {
        refuse(error);
      }
    }
  }
}
