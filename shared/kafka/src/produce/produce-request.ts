import { createAPI, ProduceAcks, produceV9, Writer } from '@platformatic/kafka';
import type { Broker } from '../cluster/broker.js';
import type { Deadline } from '../cluster/deadline.js';
import { NO_ERROR, nameOfCode } from '../cluster/error-codes.js';
import type { LogRecord } from '../log.js';
import { encodeBatch } from './encode-batch.js';

/** Who writes: the broker drops what it has already stored of this producer (by sequence), and fences older epochs. */
export interface ProducerId {
  readonly id: bigint;
  readonly epoch: number;
}

/** One record batch: the records of one partition, stored all or none. */
export interface RecordBatch {
  readonly topic: string;
  readonly partition: number;
  readonly producer: ProducerId;
  readonly firstSequence: number;
  readonly records: readonly LogRecord[];
}

/** Where a batch was stored, or the protocol's name of the error. */
export type BatchOutcome = { readonly baseOffset: bigint } | { readonly refused: string };

const SEQUENCE_MODULUS = 2 ** 31;
const RECORD_OVERHEAD_BYTES = 32;
const HEADER_OVERHEAD_BYTES = 6;

/** How the parts of this package name a partition to each other. */
export function placeOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

/** The sequence of the record after `count` records from `first` on; it wraps around as in the protocol. */
export function sequenceAfter(first: number, count: number): number {
  return (first + count) % SEQUENCE_MODULUS;
}

/** At least what the record takes inside a record batch. */
export function bytesOf(record: LogRecord): number {
  let bytes = RECORD_OVERHEAD_BYTES + Buffer.byteLength(record.key) + (record.value?.length ?? 0);
  for (const name in record.headers) {
    bytes += HEADER_OVERHEAD_BYTES + Buffer.byteLength(name) + Buffer.byteLength(record.headers[name] ?? '');
  }
  return bytes;
}

/** The library's Produce request takes single messages, and encodes them anew; this one takes encoded batches. */
const produceApi = createAPI<
  [transactionalId: string | undefined, timeoutMs: number, batches: readonly RecordBatch[]],
  produceV9.ProduceResponse
>(produceV9.api.key, produceV9.api.version, createProduceRequest, produceV9.parseResponse);

/**
 * One produce request with acks=all to one broker; the outcome of each batch by its place. Batches are of distinct
 * partitions. Throws LogUnavailable when no answer came.
 */
export async function sendBatches(
  broker: Broker,
  batches: readonly RecordBatch[],
  deadline: Deadline,
  transactionalId?: string,
): Promise<ReadonlyMap<string, BatchOutcome>> {
  const timeoutMs = Math.max(1, Math.floor(deadline.leftMs()));
  const answer = await broker.call(produceApi, deadline, transactionalId, timeoutMs, batches);
  return new Map(
    answer.responses.flatMap(({ name, partitionResponses }) =>
      partitionResponses.map(({ index, errorCode, baseOffset }): [string, BatchOutcome] => [
        placeOf(name, index),
        errorCode === NO_ERROR ? { baseOffset } : { refused: nameOfCode(errorCode) },
      ]),
    ),
  );
}

function createProduceRequest(
  transactionalId: string | undefined,
  timeoutMs: number,
  batches: readonly RecordBatch[],
): Writer {
  // The wall clock stamps the records, as in every Kafka client; nothing here decides by it.
  const timestampMs = Date.now();
  const isTransactional = transactionalId !== undefined;
  const byTopic = [...Map.groupBy(batches, ({ topic }) => topic)];
  return Writer.create()
    .appendString(transactionalId)
    .appendInt16(ProduceAcks.ALL)
    .appendInt32(timeoutMs)
    .appendArray(byTopic, (topics, [topic, ofTopic]) => {
      topics.appendString(topic).appendArray(ofTopic, (partitions, { partition, records, producer, firstSequence }) => {
        const { id: producerId, epoch: producerEpoch } = producer;
        const head = { firstSequence, producerId, producerEpoch, isTransactional, timestampMs };
        partitions.appendInt32(partition).appendBytes(encodeBatch(records, head));
      });
    })
    .appendTaggedFields();
}
