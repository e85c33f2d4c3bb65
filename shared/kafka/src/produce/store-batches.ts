import { setImmediate as nextTurn } from 'node:timers/promises';
import { createAPI, ProduceAcks, produceV9, Writer } from '@platformatic/kafka';
import type { Broker } from '../cluster/broker.js';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, retryUntil, within } from '../cluster/deadline.js';
import {
  asResponse,
  assertAccepted,
  isRefused,
  KafkaRefused,
  outcomeUnknown,
  storableAgain,
  tooLarge,
} from '../cluster/error-codes.js';
import { LogUnavailable, RecordTooLarge } from '../failures.js';
import type { LogRecord } from '../log.js';
import { type BatchHead, encodeBatch } from './encode-batch.js';

const RETRY_PAUSE_MS = 50;
const ATTEMPT_MS_MIN = 500;
/** A request takes no further batch from here on. */
const REQUEST_BYTES = 8 * 1024 * 1024;

/** The records of one partition, stored all or none. */
export interface RecordBatch extends Pick<BatchHead, 'producer' | 'firstSequence'> {
  readonly records: readonly LogRecord[];
}

/** One record batch of a partition, encoded. */
interface EncodedBatch {
  readonly topic: string;
  readonly partition: number;
  readonly bytes: Buffer;
}

/** An error code, or where the batch was stored. */
type BatchOutcome = Pick<produceV9.ProduceResponsePartition, 'errorCode' | 'baseOffset'>;

/** The library's Produce request takes messages and encodes them anew; this one takes encoded batches. */
const produceApi = createAPI<Parameters<typeof createProduceRequest>, produceV9.ProduceResponse>(
  produceV9.api.key,
  produceV9.api.version,
  createProduceRequest,
  produceV9.parseResponse,
);

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
 * Stores record batches. One request to each broker is in flight: batches that come meanwhile share the next one, and are
 * packed as late as that. A batch is sent again only as it was, and only until its deadline.
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
   * Stores one batch of a partition, which has no other in flight, and answers with its first offset.
   * Throws RecordTooLarge or LogUnavailable, with the broker's refusal as its cause where there is one.
   * @param pack the same batch each time; never called where no leader was found
   */
  async store(topic: string, partition: number, deadline: Deadline, pack: () => RecordBatch): Promise<bigint> {
    let mayBeStored = false;
    const attempt = async () => {
      try {
        const leader = await this.#cluster.leaderOf(topic, partition, deadline);
        // Half of the time left, so that a broker that hangs leaves time for another try.
        const outcome = await this.#offer(leader, { topic, partition, deadline: deadline.half(ATTEMPT_MS_MIN), pack });
        assertAccepted(`writing to ${placeOf(topic, partition)}`, outcome.errorCode);
        return outcome.baseOffset;
      } catch (error) {
        const isOpen = error instanceof LogUnavailable && error.mayHaveBeenAppended;
        mayBeStored ||= isOpen || isRefused(error, outcomeUnknown);
        this.#cluster.forgetLayout(topic);
        throw error;
      }
    };
    const isWorthIt = (error: unknown) => !(error instanceof KafkaRefused) || isRefused(error, storableAgain);
    return retryUntil(deadline, RETRY_PAUSE_MS, attempt, isWorthIt).catch((error: Error) => {
      throw isRefused(error, tooLarge)
        ? new RecordTooLarge(`${error.message}, too large`)
        : new LogUnavailable(error.message, { mayHaveBeenAppended: mayBeStored, cause: error });
    });
  }

  #offer(broker: Broker, wanted: Pick<Parcel, 'topic' | 'partition' | 'deadline' | 'pack'>): Promise<BatchOutcome> {
    const { promise, resolve: answer, reject: refuse } = Promise.withResolvers<BatchOutcome>();
    const parcel: Parcel = { ...wanted, answer, refuse, isSent: false };
    const queue = this.#queues.get(broker);
    if (queue === undefined) void this.#serve(broker, [parcel]);
    else queue.push(parcel);
    const late = () => new LogUnavailable('no answer in time', { mayHaveBeenAppended: parcel.isSent });
    return within(parcel.deadline, promise, late);
  }

  async #serve(broker: Broker, queue: Parcel[]): Promise<void> {
    this.#queues.set(broker, queue);
    while (queue.length > 0) {
      // Callers that the last request answered, or that begin in this turn, share the next one.
      await nextTurn();
      const sent = new Map<Parcel, EncodedBatch>();
      for (let bytes = 0; bytes < REQUEST_BYTES && queue.length > 0; ) {
        const parcel = queue.shift();
        // A late one was refused already.
        if (parcel?.deadline.passed() === false) {
          const batch = this.#encode(parcel);
          sent.set(parcel, batch);
          bytes += batch.bytes.length;
        }
      }
      if (sent.size > 0) await this.#send(broker, sent);
    }
    this.#queues.delete(broker);
  }

  #encode(parcel: Parcel): EncodedBatch {
    const { topic, partition, pack } = parcel;
    const { records, ...head } = pack();
    parcel.isSent = true;
    const isTransactional = this.#transactionalId !== undefined;
    // The wall clock stamps the records, as in every Kafka client; nothing here decides by it.
    return { topic, partition, bytes: encodeBatch(records, { ...head, isTransactional, timestampMs: Date.now() }) };
  }

  async #send(broker: Broker, sent: ReadonlyMap<Parcel, EncodedBatch>): Promise<void> {
    this.counts.requests += 1;
    this.counts.batches += sent.size;
    const parcels = [...sent.keys()];
    const soonest = parcels.map(({ deadline }) => deadline).reduce((one, other) => one.sooner(other));
    const timeoutMs = Math.max(1, Math.floor(soonest.leftMs()));
    try {
      const asked = broker.call(produceApi, soonest, this.#transactionalId, timeoutMs, [...sent.values()]);
      const { responses } = await asked.catch(asResponse<produceV9.ProduceResponse>);
      for (const { topic, partition, answer, refuse } of parcels) {
        const ofTopic = responses.find(({ name }) => name === topic);
        const outcome = ofTopic?.partitionResponses.find(({ index }) => index === partition);
        if (outcome === undefined) refuse(new LogUnavailable('answered without it', { mayHaveBeenAppended: true }));
        else answer(outcome);
      }
    } catch (error) {
      for (const { refuse } of parcels) refuse(error);
    }
  }
}

/** A key for maps by partition. */
export function placeOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

function createProduceRequest(
  transactionalId: string | undefined,
  timeoutMs: number,
  batches: readonly EncodedBatch[],
): Writer {
  const byTopic = [...Map.groupBy(batches, ({ topic }) => topic)];
  return Writer.create()
    .appendString(transactionalId)
    .appendInt16(ProduceAcks.ALL)
    .appendInt32(timeoutMs)
    .appendArray(byTopic, (topics, [topic, ofTopic]) => {
      topics.appendString(topic).appendArray(ofTopic, (partitions, { partition, bytes }) => {
        partitions.appendInt32(partition).appendBytes(bytes);
      });
    })
    .appendTaggedFields();
}
