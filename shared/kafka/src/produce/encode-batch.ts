import { crc32c } from '@platformatic/kafka';
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
  readonly producer: ProducerId;
  readonly firstSequence: number;
}

/** A batch without a producer id may be stored twice where it is sent twice. */
export const NO_PRODUCER = { producer: { id: -1n, epoch: -1 }, firstSequence: -1 };

const HEADER_BYTES = 61;
const MAGIC = 2;
const TRANSACTIONAL = 0x10;
const LENGTH_COVERS_FROM = 12;
const CRC_COVERS_FROM = 21;
const VARINT_BYTES_MAX = 5;
/** Attributes and six varints. */
const RECORD_OVERHEAD_BYTES = 32;
/** Two lengths, of a name and a value that fit into a batch. */
const HEADER_OVERHEAD_BYTES = 8;

/**
 * Encodes a record batch (format 2, uncompressed).
 * @param nowMs the time of records that have none of their own
 */
export function encodeBatch(batch: RecordBatch, isTransactional: boolean, nowMs: number): Buffer {
  const { records, bytes: bytesMax, producer, firstSequence } = batch;
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + bytesMax);
  const firstMs = records[0]?.timestampMs ?? nowMs;
  let lastMs = firstMs;
  let end = HEADER_BYTES;
  for (const [index, record] of records.entries()) {
    const timestampMs = record.timestampMs ?? nowMs;
    if (timestampMs > lastMs) lastMs = timestampMs;
    end = writeRecord(bytes, end, record, index, timestampMs - firstMs);
  }
  bytes.writeBigInt64BE(0n, 0);
  bytes.writeInt32BE(end - LENGTH_COVERS_FROM, 8);
  bytes.writeInt32BE(-1, 12);
  bytes.writeInt8(MAGIC, 16);
  bytes.writeInt16BE(isTransactional ? TRANSACTIONAL : 0, 21);
  bytes.writeInt32BE(records.length - 1, 23);
  bytes.writeBigInt64BE(BigInt(firstMs), 27);
  bytes.writeBigInt64BE(BigInt(lastMs), 35);
  bytes.writeBigInt64BE(producer.id, 43);
  bytes.writeInt16BE(producer.epoch, 51);
  bytes.writeInt32BE(firstSequence, 53);
  bytes.writeInt32BE(records.length, 57);
  bytes.writeUInt32BE(crc32c(bytes.subarray(CRC_COVERS_FROM, end)), 17);
  return bytes.subarray(0, end);
}

/** A bound on what the record takes inside a record batch. */
export function bytesOf(record: LogRecord): number {
  let bytes = RECORD_OVERHEAD_BYTES + Buffer.byteLength(record.key) + (record.value?.length ?? 0);
  for (const name in record.headers) {
    bytes += HEADER_OVERHEAD_BYTES + Buffer.byteLength(name) + Buffer.byteLength(record.headers[name] ?? '');
  }
  return bytes;
}

/** Writes the body behind room for the longest length, and moves it to the end of its own. */
function writeRecord(bytes: Buffer, start: number, record: LogRecord, index: number, sinceFirstMs: number): number {
  const body = start + VARINT_BYTES_MAX;
  const attributes = 0;
  let at = writeVarint(bytes, bytes.writeInt8(attributes, body), sinceFirstMs);
  at = writeVarint(bytes, at, index);
  at = writeText(bytes, at, record.key);
  at = writeVarint(bytes, at, record.value?.length ?? -1);
  at += record.value?.copy(bytes, at) ?? 0;
  const names = Object.keys(record.headers);
  at = writeVarint(bytes, at, names.length);
  for (const name of names) at = writeText(bytes, writeText(bytes, at, name), record.headers[name] ?? '');
  const target = writeVarint(bytes, start, at - body);
  bytes.copyWithin(target, body, at);
  return target + at - body;
}

function writeText(bytes: Buffer, at: number, text: string): number {
  const start = writeVarint(bytes, at, Buffer.byteLength(text));
  return start + bytes.write(text, start);
}

/** Zigzag. */
function writeVarint(bytes: Buffer, start: number, value: number): number {
  let at = start;
  let rest = ((value << 1) ^ (value >> 31)) >>> 0;
  for (; rest > 0x7f; rest >>>= 7) {
    bytes[at] = (rest & 0x7f) | 0x80;
    at += 1;
  }
  bytes[at] = rest;
  return at + 1;
}
