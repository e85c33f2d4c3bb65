import { crc32c } from '@platformatic/kafka';
import type { LogRecord } from '../log.js';

/** Who writes: the broker drops what it has already stored of this producer (by sequence), and fences older epochs. */
export interface ProducerId {
  readonly id: bigint;
  readonly epoch: number;
}

/** What a record batch holds besides its records. */
export interface BatchHead {
  readonly producer: ProducerId;
  readonly firstSequence: number;
  readonly isTransactional: boolean;
  readonly timestampMs: number;
}

/** The head of batches without a producer id: one that is sent again may be stored twice. */
export const NO_PRODUCER = { producer: { id: -1n, epoch: -1 }, firstSequence: -1 };

const HEADER_BYTES = 61;
const TRANSACTIONAL = 0x10;
const CRC_COVERS_FROM = 21;
const VARINT_BYTES_MAX = 5;
/** Attributes and six varints. */
const RECORD_OVERHEAD_BYTES = 32;
/** Two lengths, of a name and a value that fit into a batch. */
const HEADER_OVERHEAD_BYTES = 8;

/** One record batch (format 2, uncompressed). */
export function encodeBatch(records: readonly LogRecord[], head: BatchHead): Buffer {
  const bytes = Buffer.allocUnsafe(records.reduce((sum, record) => sum + bytesOf(record), HEADER_BYTES));
  const end = records.reduce((at, record, index) => writeRecord(bytes, at, record, index), HEADER_BYTES);
  bytes.writeBigInt64BE(0n, 0);
  bytes.writeInt32BE(end - 12, 8);
  bytes.writeInt32BE(-1, 12);
  bytes.writeInt8(2, 16);
  bytes.writeInt16BE(head.isTransactional ? TRANSACTIONAL : 0, 21);
  bytes.writeInt32BE(records.length - 1, 23);
  bytes.writeBigInt64BE(BigInt(head.timestampMs), 27);
  bytes.writeBigInt64BE(BigInt(head.timestampMs), 35);
  bytes.writeBigInt64BE(head.producer.id, 43);
  bytes.writeInt16BE(head.producer.epoch, 51);
  bytes.writeInt32BE(head.firstSequence, 53);
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
function writeRecord(bytes: Buffer, start: number, record: LogRecord, index: number): number {
  const body = start + VARINT_BYTES_MAX;
  let at = bytes.writeInt8(0, body);
  at = writeVarint(bytes, at, 0);
  at = writeVarint(bytes, at, index);
  at = writeText(bytes, at, record.key);
  at = writeVarint(bytes, at, record.value?.length ?? -1);
  at += record.value?.copy(bytes, at) ?? 0;
  const names = Object.keys(record.headers);
  at = writeVarint(bytes, at, names.length);
  for (const name of names) {
    at = writeText(bytes, at, name);
    at = writeText(bytes, at, record.headers[name] ?? '');
  }
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
