import { constants, zstdCompressSync } from 'node:zlib';
import { crc32c } from '@platformatic/kafka';
import type { LogRecord, TopicPartition } from '../log.js';

/** Identifies a writer. The broker drops batches that it has already stored (by sequence), and fences older epochs. */
export interface ProducerId {
  readonly id: bigint;
  readonly epoch: number;
}

/** The records of one partition, stored all or none. */
export interface RecordBatch extends TopicPartition {
  readonly records: readonly LogRecord[];
  /** An upper bound on the records' bytes inside the batch. */
  readonly bytes: number;
  /** A batch without a producer may be stored twice if it is sent twice. */
  readonly producer?: ProducerId & { readonly sequence: number };
  /** Compress the batch with zstd if it is large. */
  readonly isCompressed?: boolean;
}

/** The sequences of a producer in a partition wrap around here. */
export const SEQUENCE_MODULUS = 2 ** 31;

/** Bound on a record batch; a topic's max.message.bytes is above it. */
export const BATCH_BYTES_MAX = 900_000;
/** Attributes and six varints. */
const RECORD_OVERHEAD_BYTES = 32;
/** The lengths of a name and of a value that fit into a batch. */
const HEADER_OVERHEAD_BYTES = 8;

const HEADER_BYTES = 61;
const LENGTH_COVERS_FROM = 12;
const CRC_COVERS_FROM = 21;
const MAGIC = 2;
const TRANSACTIONAL = 0x10;
const ZSTD = 0x04;
/** Compressing a smaller batch costs its writer and its readers more than the saved bytes are worth. */
const COMPRESSED_BYTES_MIN = 2_000;
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** The size of the length field of most records, which have 64 to 8,191 bytes. */
const LENGTH_BYTES = 2;

/** Encodes a record batch into one buffer, because a buffer for each field would cost more than all the rest. */
export function encodeBatch(batch: RecordBatch, transactionalId: string | undefined): Buffer {
  const { records, producer } = batch;
  const nowMs = Date.now();
  const firstMs = records[0]?.timestampMs ?? nowMs;
  let lastMs = firstMs;
  const to = Buffer.allocUnsafe(HEADER_BYTES + batch.bytes);
  let at = HEADER_BYTES;
  for (const [index, record] of records.entries()) {
    const { timestampMs = nowMs } = record;
    if (timestampMs > lastMs) lastMs = timestampMs;
    at = writeRecord(to, at, record, timestampMs - firstMs, index);
  }
  let attributes = transactionalId === undefined ? 0 : TRANSACTIONAL;
  if (batch.isCompressed === true && at >= COMPRESSED_BYTES_MIN) {
    const packed = zstdCompressSync(to.subarray(HEADER_BYTES, at), COMPRESSION);
    if (HEADER_BYTES + packed.length < at) {
      at = HEADER_BYTES + packed.copy(to, HEADER_BYTES);
      attributes |= ZSTD;
    }
  }
  to.writeBigInt64BE(0n, 0);
  to.writeInt32BE(at - LENGTH_COVERS_FROM, 8);
  to.writeInt32BE(0, 12);
  to.writeInt8(MAGIC, 16);
  to.writeInt16BE(attributes, CRC_COVERS_FROM);
  to.writeInt32BE(records.length - 1, 23);
  to.writeBigInt64BE(BigInt(firstMs), 27);
  to.writeBigInt64BE(BigInt(lastMs), 35);
  to.writeBigInt64BE(producer?.id ?? -1n, 43);
  to.writeInt16BE(producer?.epoch ?? 0, 51);
  to.writeInt32BE(producer?.sequence ?? 0, 53);
  to.writeInt32BE(records.length, 57);
  to.writeUInt32BE(crc32c(to.subarray(CRC_COVERS_FROM, at)), 17);
  return to.subarray(0, at);
}

/** @returns where the next record begins */
function writeRecord(to: Buffer, from: number, record: LogRecord, afterMs: number, index: number): number {
  const { key, value, headers } = record;
  // The record's length comes first but is known last.
  const start = from + LENGTH_BYTES;
  to[start] = 0;
  let at = writeVarint(to, start + 1, afterMs);
  at = writeVarint(to, at, index);
  at = writeText(to, at, key);
  at = writeVarint(to, at, value?.length ?? -1);
  if (value !== null) at += value.copy(to, at);
  const names = Object.keys(headers);
  at = writeVarint(to, at, names.length);
  for (const name of names) at = writeText(to, writeText(to, at, name), headers[name] ?? '');
  const length = at - start;
  const lengthBytes = length < 2 ** 6 ? 1 : length < 2 ** 13 ? 2 : length < 2 ** 20 ? 3 : 4;
  if (lengthBytes !== LENGTH_BYTES) to.copyWithin(from + lengthBytes, start, at);
  writeVarint(to, from, length);
  return from + lengthBytes + length;
}

function writeText(to: Buffer, at: number, text: string): number {
  const start = writeVarint(to, at, Buffer.byteLength(text));
  return start + to.write(text, start);
}

/** Writes a whole number below 2^52 as a zigzag varint. @returns where the next field begins */
function writeVarint(to: Buffer, at: number, value: number): number {
  let left = value < 0 ? -2 * value - 1 : 2 * value;
  let end = at;
  for (; left > 127; end += 1) {
    to[end] = (left % 128) + 128;
    left = Math.floor(left / 128);
  }
  to[end] = left;
  return end + 1;
}

/** An upper bound on the record's bytes inside a record batch. */
export function bytesOf(record: LogRecord): number {
  let bytes = RECORD_OVERHEAD_BYTES + Buffer.byteLength(record.key) + (record.value?.length ?? 0);
  for (const name in record.headers) {
    bytes += HEADER_OVERHEAD_BYTES + Buffer.byteLength(name) + Buffer.byteLength(record.headers[name] ?? '');
  }
  return bytes;
}

/** Cuts the records, in order, into chunks that fit into a record batch; at least one record each. */
export function cut(records: readonly LogRecord[]): readonly Pick<RecordBatch, 'records' | 'bytes'>[] {
  const chunks: { records: LogRecord[]; bytes: number }[] = [];
  for (const record of records) {
    const bytes = bytesOf(record);
    const last = chunks.at(-1);
    if (last === undefined || last.bytes + bytes > BATCH_BYTES_MAX) chunks.push({ records: [record], bytes });
    else {
      last.records.push(record);
      last.bytes += bytes;
    }
  }
  return chunks;
}
