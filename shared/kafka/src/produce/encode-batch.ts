import { createRecordsBatch, NumericMap } from '@platformatic/kafka';
import type { LogRecord, TopicPartition } from '../log.js';

/** Who writes: the broker drops what it has already stored of this producer (by sequence), and fences older epochs. */
export interface ProducerId {
  readonly id: bigint;
  readonly epoch: number;
}

/** The records of one partition, stored all or none. */
export interface RecordBatch extends TopicPartition {
  readonly records: readonly LogRecord[];
  /** A bound on what the records take inside the batch. */
  readonly bytes: number;
  /** A batch without one may be stored twice where it is sent twice. */
  readonly producer?: ProducerId & { readonly sequence: number };
}

/** Attributes and six varints. */
const RECORD_OVERHEAD_BYTES = 32;
/** Two lengths, of a name and a value that fit into a batch. */
const HEADER_OVERHEAD_BYTES = 8;

/** Encodes a record batch, uncompressed. */
export function encodeBatch(batch: RecordBatch, transactionalId: string | undefined): Buffer {
  const { topic, partition, records, producer } = batch;
  const messages = records.map(({ key, value, headers, timestampMs }) => ({
    topic,
    partition,
    key: Buffer.from(key),
    // The library writes a tombstone, though its type does not tell of one.
    value: value as Buffer,
    headers: new Map(Object.entries(headers).map(([name, text]) => [Buffer.from(name), Buffer.from(text)])),
    ...(timestampMs !== undefined && { timestamp: BigInt(timestampMs) }),
  }));
  const as = producer && {
    producerId: producer.id,
    producerEpoch: producer.epoch,
    sequences: new NumericMap([[`${topic}:${partition}`, producer.sequence]]),
  };
  return createRecordsBatch(messages, { ...as, transactionalId }).buffer;
}

/** A bound on what the record takes inside a record batch. */
export function bytesOf(record: LogRecord): number {
  let bytes = RECORD_OVERHEAD_BYTES + Buffer.byteLength(record.key) + (record.value?.length ?? 0);
  for (const name in record.headers) {
    bytes += HEADER_OVERHEAD_BYTES + Buffer.byteLength(name) + Buffer.byteLength(record.headers[name] ?? '');
  }
  return bytes;
}
