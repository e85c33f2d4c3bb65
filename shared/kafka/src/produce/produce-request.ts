import { createAPI, initProducerIdV4, ProduceAcks, produceV9, Writer } from '@platformatic/kafka';
import type { Broker } from '../cluster/broker.js';
import type { Deadline } from '../cluster/deadline.js';
import { assertAccepted, NO_ERROR, nameOfCode } from '../cluster/error-codes.js';

/** Who writes: the broker drops what it has already stored of this producer (by sequence), and fences older epochs. */
export interface ProducerId {
  readonly id: bigint;
  readonly epoch: number;
}

/** One record batch of a partition, encoded. */
export interface EncodedBatch {
  readonly topic: string;
  readonly partition: number;
  readonly bytes: Buffer;
}

/** Where a batch was stored, or the protocol's name of the error. */
export type BatchOutcome = { readonly baseOffset: bigint } | { readonly refused: string };

const SEQUENCE_MODULUS = 2 ** 31;

/** How the parts of this package name a partition to each other. */
export function placeOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

/** The sequence of the record after `count` records from `first` on; it wraps around as in the protocol. */
export function sequenceAfter(first: number, count: number): number {
  return (first + count) % SEQUENCE_MODULUS;
}

/**
 * Takes a producer id; with a transactional id, that of its one holder. Whoever holds it already names it, and is refused
 * where another has taken it since; without that, every earlier holder is fenced.
 */
export async function takeProducerId(
  broker: Broker,
  deadline: Deadline,
  { transactionalId, timeoutMs }: { readonly transactionalId: string | null; readonly timeoutMs: number },
  held: ProducerId = { id: -1n, epoch: -1 },
): Promise<ProducerId> {
  const answer = await broker.call(initProducerIdV4.api, deadline, transactionalId, timeoutMs, held.id, held.epoch);
  assertAccepted('opening a producer', answer.errorCode);
  return { id: answer.producerId, epoch: answer.producerEpoch };
}

/** The library's Produce request takes single messages, and encodes them anew; this one takes encoded batches. */
const produceApi = createAPI<
  [transactionalId: string | undefined, timeoutMs: number, batches: readonly EncodedBatch[]],
  produceV9.ProduceResponse
>(produceV9.api.key, produceV9.api.version, createProduceRequest, produceV9.parseResponse);

/**
 * One produce request with acks=all to one broker; the outcome of each batch by its place. Batches are of distinct
 * partitions. Throws LogUnavailable when no answer came.
 */
export async function sendBatches(
  broker: Broker,
  batches: readonly EncodedBatch[],
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
