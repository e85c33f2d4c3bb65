import { encodeBatch } from './encode-batch.js';
import type { LogRecord } from './log.js';
import type { KafkaNode } from './reach-brokers.js';
import { apiKeys, codes, Encoder, KafkaRefused, requests } from './speak-kafka.js';
import type { Deadline } from './wait.js';

/** Who writes: the broker drops what it has already stored of this producer (by sequence), and fences older epochs. */
export interface ProducerId {
  readonly id: bigint;
  readonly epoch: number;
}

/** One record batch: the records of one partition, stored all or none. */
export interface Batch {
  readonly topic: string;
  readonly partition: number;
  readonly firstSequence: number;
  readonly records: readonly LogRecord[];
}

export interface BatchOutcome {
  readonly errorCode: number;
  readonly baseOffset: bigint;
}

interface Produced {
  readonly topics: readonly {
    readonly topicName: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly errorCode: number;
      readonly baseOffset: string;
    }[];
  }[];
}

const ACKS_ALL = -1;
const PRODUCE_VERSION_MIN = 3;
const NO_PRODUCER = -1n;
const RECORD_OVERHEAD_BYTES = 32;
const HEADER_OVERHEAD_BYTES = 6;

/** How two parts of this package name a partition to each other. */
export function placeOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

/** At least what the record takes inside a record batch. */
export function bytesOf(record: LogRecord): number {
  let bytes = RECORD_OVERHEAD_BYTES + Buffer.byteLength(record.key) + (record.value?.length ?? 0);
  for (const name in record.headers) {
    bytes += HEADER_OVERHEAD_BYTES + Buffer.byteLength(name) + Buffer.byteLength(record.headers[name] ?? '');
  }
  return bytes;
}

/** One produce request with acks=all to one broker; the outcome of each batch by its place. Batches are of distinct partitions. */
export async function sendBatches(
  node: KafkaNode,
  producer: ProducerId,
  transactionalId: string | undefined,
  batches: readonly Batch[],
  deadline: Deadline,
): Promise<ReadonlyMap<string, BatchOutcome>> {
  const byTopic = new Map<string, Batch[]>();
  for (const batch of batches) {
    const ofTopic = byTopic.get(batch.topic) ?? [];
    ofTopic.push(batch);
    byTopic.set(batch.topic, ofTopic);
  }
  const body = encodeProduce(byTopic, producer, transactionalId, deadline);
  const answer = await node.send<Produced>((broker) => {
    const { request, response } = broker.lookupRequest(apiKeys.Produce, requests.Produce)({ acks: ACKS_ALL });
    if (request.apiVersion < PRODUCE_VERSION_MIN) {
      throw new Error(`the broker's Produce version ${request.apiVersion} is older than Kafka 0.11`);
    }
    return { request: { ...request, encode: async () => new Encoder().writeBuffer(body) }, response };
  }, deadline);
  return new Map(
    answer.topics.flatMap(({ topicName, partitions }) =>
      partitions.map(({ partition, errorCode, baseOffset }) => [
        placeOf(topicName, partition),
        { errorCode, baseOffset: BigInt(baseOffset) },
      ]),
    ),
  );
}

/** The body of a produce request; it is the same in versions 3 to 8. */
function encodeProduce(
  byTopic: ReadonlyMap<string, readonly Batch[]>,
  producer: ProducerId,
  transactionalId: string | undefined,
  deadline: Deadline,
): Buffer {
  // The wall clock stamps the records, as in every Kafka client; nothing here decides by it.
  const timestampMs = Date.now();
  const chunks: Buffer[] = [
    nullableString(transactionalId),
    int16(ACKS_ALL),
    int32(Math.max(1, Math.floor(deadline.leftMs()))),
  ];
  chunks.push(int32(byTopic.size));
  for (const [topic, batches] of byTopic) {
    chunks.push(nullableString(topic), int32(batches.length));
    for (const { partition, firstSequence, records } of batches) {
      const encoded = encodeBatch(records, {
        firstSequence,
        producerId: producer.id,
        producerEpoch: producer.epoch,
        transactional: transactionalId !== undefined,
        timestampMs,
      });
      chunks.push(int32(partition), int32(encoded.length), encoded);
    }
  }
  return Buffer.concat(chunks);
}

function nullableString(text: string | undefined): Buffer {
  if (text === undefined) {
    return int16(-1);
  }
  const bytes = Buffer.from(text, 'utf8');
  return Buffer.concat([int16(bytes.length), bytes]);
}

function int16(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/**
 * Asks for a producer id. With a transactional id and no `held` it fences every earlier holder; with `held` it goes on
 * as that holder under a new epoch, or is refused (PRODUCER_FENCED) when another has taken over since.
 * kafkajs knows this request only in a version without `held`, in which a fenced holder would fence its successor.
 */
export async function initProducerId(
  node: KafkaNode,
  transactionalId: string | undefined,
  transactionTimeoutMs: number,
  held: ProducerId | undefined,
  deadline: Deadline,
): Promise<ProducerId> {
  const name = transactionalId === undefined ? undefined : Buffer.from(transactionalId, 'utf8');
  const body = Buffer.alloc(4 + 8 + 2 + 1);
  body.writeInt32BE(transactionTimeoutMs, 0);
  body.writeBigInt64BE(held?.id ?? NO_PRODUCER, 4);
  body.writeInt16BE(held?.epoch ?? -1, 12);
  const length = name === undefined ? Buffer.from([0]) : unsignedVarint(name.length + 1);
  // The first byte ends the request header (no tagged fields); the last ends the body.
  const bytes = Buffer.concat([Buffer.from([0]), length, name ?? Buffer.alloc(0), body]);
  const answer = await node.send<{ errorCode: number; id: bigint; epoch: number }>(
    () => ({
      request: {
        apiKey: apiKeys.InitProducerId,
        apiVersion: 4,
        apiName: 'InitProducerId',
        encode: async () => new Encoder().writeBuffer(bytes),
      },
      response: {
        decode: async (payload) => ({
          errorCode: payload.readInt16BE(5),
          id: payload.readBigInt64BE(7),
          epoch: payload.readInt16BE(15),
        }),
        parse: async (data) => data,
      },
    }),
    deadline,
  );
  if (answer.errorCode !== codes.none) {
    throw new KafkaRefused('opening a producer', answer.errorCode);
  }
  return { id: answer.id, epoch: answer.epoch };
}

function unsignedVarint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}
