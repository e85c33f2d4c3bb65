import { setImmediate as nextTurn } from 'node:timers/promises';
import { pause } from '@makerbook/contracts-primitives';
import { createAPI, ProduceAcks, produceV9, Writer } from '@platformatic/kafka';
import type { Broker } from '../cluster/broker.js';
import type { Cluster } from '../cluster/cluster.js';
import { ATTEMPT_MS_MIN, type Deadline, retryUntil, within } from '../cluster/deadline.js';
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
import { LogUnavailable, RecordTooLarge, unavailable } from '../failures.js';
import type { AppendedAt, TopicPartition } from '../log.js';
import { BATCH_BYTES_MAX, encodeBatch, type RecordBatch } from './encode-batch.js';

/** A request of this size takes no further batch. */
const REQUEST_BYTES = 8 * 1024 * 1024;
/**
 * The share of its time that an attempt must have left when it is sent. A request ends at the earliest deadline of its
 * attempts, and all of them fail then. One with hardly any time left would cut off the others, again and again after a
 * broker has hung.
 */
const TIME_LEFT_MIN = 0.2;

/** The first record of a batch. */
export type Stored = Pick<AppendedAt, 'offset' | 'timeMs'>;

/** The records of one call, from an attempt to store them until its outcome is known. */
interface Parcel {
  readonly batch: RecordBatch;
  readonly deadline: Deadline;
  /** With less time left the parcel is not sent. Its call tries again. */
  readonly leftMsMin: number;
  readonly answer: (stored: Stored) => void;
  readonly refuse: (error: unknown) => void;
  /** True if the parcel must not share a batch. */
  isAlone: boolean;
  isSent: boolean;
  /** True once the caller was told that the call has failed. The parcel must then not be sent. */
  isGivenUp: boolean;
}

/** The parcels that share a record batch. */
type Parcels = readonly [Parcel, ...Parcel[]];

export interface StoreOptions {
  /** All batches belong to the transaction that is open under the id. */
  readonly transactionalId?: string;
  /** Requests begin at least this far apart. */
  readonly lingerMs?: number;
}

const produceApi = createAPI<Parameters<typeof createProduceRequest>, produceV9.ProduceResponse>(
  produceV9.api.key,
  produceV9.api.version,
  createProduceRequest,
  produceV9.parseResponse,
);

/**
 * Stores record batches. Keeps one request to each broker in flight. Calls that come meanwhile share the next request.
 * Calls for one partition share a batch, unless they have a producer id. A failed batch is sent again until its
 * deadline.
 */
export class BatchStore {
  readonly #cluster: Cluster;
  readonly #options: StoreOptions;
  readonly #queues = new Map<Broker, Parcel[]>();
  #sentAtMs = Number.NEGATIVE_INFINITY;

  constructor(cluster: Cluster, options: StoreOptions = {}) {
    this.#cluster = cluster;
    this.#options = options;
  }

  /**
   * Stores the records of one partition all or none, and answers with the place of the first. Throws RecordTooLarge or
   * LogUnavailable, with the broker's refusal, if any, as its cause.
   */
  async store(batch: RecordBatch, deadline: Deadline): Promise<Stored> {
    const { topic, partition } = batch;
    let mayBeStored = false;
    const attempt = async () => {
      try {
        const leader = await this.#cluster.leaderOf(topic, partition, deadline);
        return await this.#offer(leader, batch, deadline.half());
      } catch (error) {
        const isOpen = error instanceof LogUnavailable && error.mayHaveBeenAppended;
        mayBeStored ||= isOpen || isRefused(error, ...outcomeUnknown);
        this.#cluster.forgetLayout(topic);
        throw error;
      }
    };
    try {
      // A shorter attempt would cut off the others in its request.
      return await retryUntil(deadline, attempt, (error) => isTransient(error) && deadline.leftMs() >= ATTEMPT_MS_MIN);
    } catch (error) {
      const { message } = error as Error;
      if (isRefused(error, ...tooLarge)) throw new RecordTooLarge(`${message}, too large`);
      throw new LogUnavailable(message, { mayHaveBeenAppended: mayBeStored, cause: error });
    }
  }

  #offer(broker: Broker, batch: RecordBatch, deadline: Deadline): Promise<Stored> {
    const { promise, resolve: answer, reject: refuse } = Promise.withResolvers<Stored>();
    const isAlone = batch.producer !== undefined;
    const leftMsMin = TIME_LEFT_MIN * deadline.leftMs();
    const parcel: Parcel = { batch, deadline, leftMsMin, answer, refuse, isAlone, isSent: false, isGivenUp: false };
    const queue = this.#queues.get(broker);
    if (queue === undefined) void this.#serve(broker, [parcel]);
    else queue.push(parcel);
    const late = () => {
      parcel.isGivenUp = true;
      return new LogUnavailable('no answer in time', { mayHaveBeenAppended: parcel.isSent });
    };
    return within(deadline, promise, late);
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

  async #send(broker: Broker, batches: readonly Parcels[], queue: Parcel[]): Promise<void> {
    const parcels = batches.flat();
    for (const parcel of parcels) parcel.isSent = true;
    const soonest = parcels.map(({ deadline }) => deadline).reduce((one, other) => one.sooner(other));
    const timeoutMs = Math.max(1, Math.floor(soonest.leftMs()));
    const joined = batches.map(joinParcels);
    try {
      const asked = broker.call(produceApi, soonest, this.#options.transactionalId, timeoutMs, joined);
      const { responses } = await asked.catch(asResponse<produceV9.ProduceResponse>);
      for (const sent of batches) {
        const { topic, partition } = sent[0].batch;
        const ofTopic = responses.find(({ name }) => name === topic)?.partitionResponses;
        const outcome = ofTopic?.find(({ index }) => index === partition);
        settle(sent, outcome, queue);
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
function takeBatches(queue: Parcel[]): readonly Parcels[] {
  // A timer may fire a moment early: never send what was given up, whatever the clock says.
  const waiting = queue.splice(0).filter(({ isGivenUp, deadline, leftMsMin, refuse }) => {
    if (isGivenUp || deadline.passed()) return false;
    const isLate = deadline.leftMs() < leftMsMin;
    if (isLate) refuse(unavailable('the records waited too long to be sent'));
    return !isLate;
  });
  const batches: Parcels[] = [];
  let bytes = 0;
  for (const [first, ...others] of Map.groupBy(waiting, ({ batch }) => placeOf(batch)).values()) {
    if (first === undefined || bytes >= REQUEST_BYTES) break;
    const parcels = takeBatch(first, others);
    batches.push(parcels);
    for (const { batch } of parcels) bytes += batch.bytes;
  }
  const taken = new Set(batches.flat());
  queue.push(...waiting.filter((parcel) => !taken.has(parcel)));
  return batches;
}

/** Adds others to the first, in order, as far as they fit into its batch. */
function takeBatch(first: Parcel, others: readonly Parcel[]): Parcels {
  if (first.isAlone) return [first];
  let { bytes } = first.batch;
  const behind = others.findIndex(({ batch, isAlone }) => {
    bytes += batch.bytes;
    return isAlone || bytes > BATCH_BYTES_MAX;
  });
  return [first, ...(behind < 0 ? others : others.slice(0, behind))];
}

function joinParcels(parcels: Parcels): RecordBatch {
  const [{ batch: first }, ...others] = parcels;
  if (others.length === 0) return first;
  const records = parcels.flatMap(({ batch }) => batch.records);
  return { ...first, records, bytes: parcels.reduce((sum, { batch }) => sum + batch.bytes, 0) };
}

/** Answers the parcels of a batch. If they are too large together, each goes back to the queue for its own batch. */
function settle(parcels: Parcels, outcome: produceV9.ProduceResponsePartition | undefined, queue: Parcel[]): void {
  const reason = outcome === undefined ? 'UNKNOWN_SERVER_ERROR' : nameOfCode(outcome.errorCode);
  const isTooLargeTogether = parcels.length > 1 && tooLarge.includes(reason);
  let offset = outcome?.baseOffset ?? 0n;
  const timeMs = Number(outcome?.logAppendTimeMs ?? -1n);
  for (const parcel of parcels) {
    const { batch, answer, refuse } = parcel;
    if (outcome?.errorCode === NO_ERROR) answer({ offset, timeMs });
    else if (isTooLargeTogether) queue.push(Object.assign(parcel, { isAlone: true }));
    else refuse(new KafkaRefused(`writing to ${placeOf(batch)}`, reason));
    offset += BigInt(batch.records.length);
  }
}

/** In the library's Produce request all batches have one producer. Here they may have several. */
function createProduceRequest(
  transactionalId: string | undefined,
  timeoutMs: number,
  batches: readonly RecordBatch[],
): Writer {
  const byTopic = [...Map.groupBy(batches, ({ topic }) => topic)];
  return Writer.create()
    .appendString(transactionalId)
    .appendInt16(ProduceAcks.ALL)
    .appendInt32(timeoutMs)
    .appendArray(byTopic, (topics, [topic, ofTopic]) => {
      topics.appendString(topic).appendArray(ofTopic, (partitions, batch) => {
        partitions.appendInt32(batch.partition).appendBytes(encodeBatch(batch, transactionalId));
      });
    })
    .appendTaggedFields();
}
