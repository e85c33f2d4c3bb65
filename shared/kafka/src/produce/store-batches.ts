import { setImmediate as nextTurn } from 'node:timers/promises';
import { createAPI, ProduceAcks, produceV9, Writer } from '@platformatic/kafka';
import type { Broker } from '../cluster/broker.js';
import type { Cluster } from '../cluster/cluster.js';
import { type Deadline, pause, retryUntil, within } from '../cluster/deadline.js';
import {
  asResponse,
  isRefused,
  isTransient,
  KafkaRefused,
  NO_ERROR,
  nameOfCode,
  outcomeUnknown,
  tooLarge,
} from '../cluster/error-codes.js';
import { LogUnavailable, RecordTooLarge } from '../failures.js';
import type { TopicPartition } from '../log.js';
import { encodeBatch, type RecordBatch } from './encode-batch.js';

/** Bound on a record batch; a topic's max.message.bytes is above it. */
export const BATCH_BYTES_MAX = 900_000;
/** A request takes no further batch from here on. */
const REQUEST_BYTES = 8 * 1024 * 1024;
const RETRY_PAUSE_MS = 50;
const ATTEMPT_MS_MIN = 500;

/** The records of one call, from an attempt to store them until its outcome is known. */
interface Parcel extends TopicPartition, RecordBatch {
  readonly deadline: Deadline;
  readonly answer: (offset: bigint) => void;
  readonly refuse: (error: unknown) => void;
  /** Must not share a batch. */
  isAlone: boolean;
  isSent: boolean;
}

/** The parcels of one record batch. */
type Batch = readonly [Parcel, ...Parcel[]];

export interface StoreOptions {
  /** All batches belong to the transaction that is open under the id. */
  readonly transactionalId?: string;
  /** Requests begin at least so long after each other. */
  readonly lingerMs?: number;
}

const produceApi = createAPI<Parameters<typeof createProduceRequest>, produceV9.ProduceResponse>(
  produceV9.api.key,
  produceV9.api.version,
  createProduceRequest,
  produceV9.parseResponse,
);

/**
 * Stores record batches. One request to each broker is in flight, and calls that come meanwhile share the next one; those of
 * one partition share a batch, unless they have a producer id. What has failed is sent again until its deadline.
 */
export class BatchStore {
  readonly #cluster: Cluster;
  readonly #options: StoreOptions;
  readonly #queues = new Map<Broker, Parcel[]>();
  #sentAtMs = Number.NEGATIVE_INFINITY;
  readonly counts = { requests: 0, batches: 0 };

  constructor(cluster: Cluster, options: StoreOptions = {}) {
    this.#cluster = cluster;
    this.#options = options;
  }

  /**
   * Stores the records of one partition all or none, and answers with the offset of the first. Throws RecordTooLarge or
   * LogUnavailable, with the broker's refusal as its cause where there is one.
   */
  async store({ topic, partition }: TopicPartition, batch: RecordBatch, deadline: Deadline): Promise<bigint> {
    const isAlone = batch.producer.id >= 0n;
    let mayBeStored = false;
    const attempt = async () => {
      try {
        const leader = await this.#cluster.leaderOf(topic, partition, deadline);
        // Half of the time left, so that a broker that hangs leaves time for another try.
        const half = deadline.half(ATTEMPT_MS_MIN);
        return await this.#offer(leader, { topic, partition, ...batch, isAlone, deadline: half });
      } catch (error) {
        const isOpen = error instanceof LogUnavailable && error.mayHaveBeenAppended;
        mayBeStored ||= isOpen || isRefused(error, outcomeUnknown);
        this.#cluster.forgetLayout(topic);
        throw error;
      }
    };
    return retryUntil(deadline, RETRY_PAUSE_MS, attempt, isTransient).catch((error: Error) => {
      if (isRefused(error, tooLarge)) throw new RecordTooLarge(`${error.message}, too large`);
      throw new LogUnavailable(error.message, { mayHaveBeenAppended: mayBeStored, cause: error });
    });
  }

  #offer(broker: Broker, offered: Omit<Parcel, 'answer' | 'refuse' | 'isSent'>): Promise<bigint> {
    const { promise, resolve: answer, reject: refuse } = Promise.withResolvers<bigint>();
    const parcel: Parcel = { ...offered, answer, refuse, isSent: false };
    const queue = this.#queues.get(broker);
    if (queue === undefined) void this.#serve(broker, [parcel]);
    else queue.push(parcel);
    const late = () => new LogUnavailable('no answer in time', { mayHaveBeenAppended: parcel.isSent });
    return within(parcel.deadline, promise, late);
  }

  async #serve(broker: Broker, queue: Parcel[]): Promise<void> {
    this.#queues.set(broker, queue);
    while (queue.length > 0) {
      const { lingerMs = 0 } = this.#options;
      const leftMs = this.#sentAtMs + lingerMs - performance.now();
      // Callers that the last request answered, or that begin in this turn, share the next one.
      await (leftMs > 0 ? pause(leftMs) : nextTurn());
      this.#sentAtMs = performance.now();
      const batches = takeBatches(queue);
      if (batches.length > 0) await this.#send(broker, batches, queue);
    }
    this.#queues.delete(broker);
  }

  async #send(broker: Broker, batches: readonly Batch[], queue: Parcel[]): Promise<void> {
    this.counts.requests += 1;
    this.counts.batches += batches.length;
    const parcels = batches.flat();
    for (const parcel of parcels) parcel.isSent = true;
    const soonest = parcels.map(({ deadline }) => deadline).reduce((one, other) => one.sooner(other));
    const timeoutMs = Math.max(1, Math.floor(soonest.leftMs()));
    try {
      const asked = broker.call(produceApi, soonest, this.#options.transactionalId, timeoutMs, batches);
      const { responses } = await asked.catch(asResponse<produceV9.ProduceResponse>);
      for (const batch of batches) {
        const ofTopic = responses.find(({ name }) => name === batch[0].topic);
        settle(
          batch,
          ofTopic?.partitionResponses.find(({ index }) => index === batch[0].partition),
          queue,
        );
      }
    } catch (error) {
      for (const { refuse } of parcels) refuse(error);
    }
  }
}

/** A key for maps by partition. */
export function placeOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}

/** Takes what fits into one request, one batch for each partition; the rest stays in the queue, in order. */
function takeBatches(queue: Parcel[]): readonly Batch[] {
  // A late one was refused already.
  const waiting = queue.splice(0).filter(({ deadline }) => !deadline.passed());
  const batches: Batch[] = [];
  let bytes = 0;
  for (const [first, ...others] of Map.groupBy(waiting, placeOf).values()) {
    if (first === undefined || bytes >= REQUEST_BYTES) break;
    const batch = takeBatch(first, others);
    batches.push(batch);
    bytes += sizeOf(batch);
  }
  const taken = new Set(batches.flat());
  queue.push(...waiting.filter((parcel) => !taken.has(parcel)));
  return batches;
}

/** Adds others to the first, in order, as far as they fit into its batch. */
function takeBatch(first: Parcel, others: readonly Parcel[]): Batch {
  if (first.isAlone) return [first];
  let { bytes } = first;
  const behind = others.findIndex((parcel) => {
    bytes += parcel.bytes;
    return parcel.isAlone || bytes > BATCH_BYTES_MAX;
  });
  return [first, ...(behind < 0 ? others : others.slice(0, behind))];
}

function sizeOf(batch: Batch): number {
  return batch.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Answers the parcels of a batch; those that are too large together go back to the queue, each for its own batch. */
function settle(batch: Batch, outcome: produceV9.ProduceResponsePartition | undefined, queue: Parcel[]): void {
  const reason = outcome === undefined ? 'UNKNOWN_SERVER_ERROR' : nameOfCode(outcome.errorCode);
  const isTooLargeTogether = batch.length > 1 && tooLarge.has(reason);
  let offset = outcome?.baseOffset ?? 0n;
  for (const parcel of batch) {
    if (isTooLargeTogether) queue.push(Object.assign(parcel, { isAlone: true }));
    else if (outcome?.errorCode !== NO_ERROR) {
      parcel.refuse(new KafkaRefused(`writing to ${placeOf(parcel)}`, reason));
    } else parcel.answer(offset);
    offset += BigInt(parcel.records.length);
  }
}

/** The library's Produce request takes messages and encodes them anew; this one takes batches. */
function createProduceRequest(
  transactionalId: string | undefined,
  timeoutMs: number,
  batches: readonly Batch[],
): Writer {
  const isTransactional = transactionalId !== undefined;
  // The wall clock stamps the records, as in every Kafka client; nothing here decides by it.
  const nowMs = Date.now();
  const byTopic = [...Map.groupBy(batches, ([{ topic }]) => topic)];
  return Writer.create()
    .appendString(transactionalId)
    .appendInt16(ProduceAcks.ALL)
    .appendInt32(timeoutMs)
    .appendArray(byTopic, (topics, [topic, ofTopic]) => {
      topics.appendString(topic).appendArray(ofTopic, (partitions, batch) => {
        const records = batch.length === 1 ? batch[0].records : batch.flatMap((parcel) => parcel.records);
        const encoded = encodeBatch({ ...batch[0], records, bytes: sizeOf(batch) }, isTransactional, nowMs);
        partitions.appendInt32(batch[0].partition).appendBytes(encoded);
      });
    })
    .appendTaggedFields();
}
