import { crc32c } from '@platformatic/kafka';
import type { LogRecord } from '../log.js';

/** What a record batch holds besides its records. */
export interface BatchHead {
  readonly firstSequence: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly isTransactional: boolean;
  readonly timestampMs: number;
}

const HEADER_BYTES = 61;
const TRANSACTIONAL = 0x10;
const CRC_COVERS_FROM = 21;

/** One record batch (format 2, uncompressed) in one buffer, sized beforehand. */
export function encodeBatch(records: readonly LogRecord[], head: BatchHead): Buffer {
  const bodies = records.map(bodyBytes);
  const size = bodies.reduce((sum, body) => sum + varintBytes(body) + body, HEADER_BYTES);
  const bytes = Buffer.allocUnsafe(size);
  bytes.writeBigInt64BE(0n, 0);
  bytes.writeInt32BE(size - 12, 8);
  bytes.writeInt32BE(-1, 12);
  bytes.writeInt8(2, 16);
  bytes.writeInt16BE(head.isTransactional ? TRANSACTIONAL : 0, 21);
  bytes.writeInt32BE(records.length - 1, 23);
  bytes.writeBigInt64BE(BigInt(head.timestampMs), 27);
  bytes.writeBigInt64BE(BigInt(head.timestampMs), 35);
  bytes.writeBigInt64BE(head.producerId, 43);
  bytes.writeInt16BE(head.producerEpoch, 51);
  bytes.writeInt32BE(head.firstSequence, 53);
  bytes.writeInt32BE(records.length, 57);
  let at = HEADER_BYTES;
  records.forEach((record, index) => {
    at = writeRecord(bytes, at, record, index, bodies[index] ?? 0);
  });
  bytes.writeUInt32BE(crc32c(bytes.subarray(CRC_COVERS_FROM)), 17);
  return bytes;
}

/** The size of a record after its length, as its `index`th in the batch. */
function bodyBytes(record: LogRecord, index: number): number {
  let bytes = 2 + varintBytes(index) + textBytes(record.key);
  bytes += record.value === null ? 1 : varintBytes(record.value.length) + record.value.length;
  let headers = 0;
  for (const name in record.headers) {
    headers += 1;
    bytes += textBytes(name) + textBytes(record.headers[name] ?? '');
  }
  return bytes + varintBytes(headers);
}

function writeRecord(bytes: Buffer, start: number, record: LogRecord, index: number, body: number): number {
  let at = writeVarint(bytes, start, body);
  at = bytes.writeInt8(0, at);
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
  return at;
}

function textBytes(text: string): number {
  const length = Buffer.byteLength(text);
  return varintBytes(length) + length;
}

function writeText(bytes: Buffer, at: number, text: string): number {
  const start = writeVarint(bytes, at, Buffer.byteLength(text));
  return start + bytes.write(text, start);
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = zigzag(value); rest > 0x7f; rest >>>= 7) {
    bytes += 1;
  }
  return bytes;
}

function writeVarint(bytes: Buffer, start: number, value: number): number {
  let at = start;
  let rest = zigzag(value);
  for (; rest > 0x7f; rest >>>= 7) {
    bytes[at] = (rest & 0x7f) | 0x80;
    at += 1;
  }
  bytes[at] = rest;
  return at + 1;
}

function zigzag(value: number): number {
  return ((value << 1) ^ (value >> 31)) >>> 0;
}
