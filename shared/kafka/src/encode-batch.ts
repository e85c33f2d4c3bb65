import type { LogRecord } from './log.js';

/** What a record batch says about itself besides its records. */
export interface BatchHead {
  readonly firstSequence: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly transactional: boolean;
  readonly timestampMs: number;
}

const HEADER_BYTES = 61;
const TRANSACTIONAL = 0x10;
const CRC_COVERS_FROM = 21;

/**
 * One record batch (format 2, uncompressed) in one buffer, sized beforehand.
 * kafkajs encodes a record by growing and copying a buffer per field, which costs several times as much.
 */
export function encodeBatch(records: readonly LogRecord[], head: BatchHead): Buffer {
  const bodies = records.map(bodyBytes);
  const size = bodies.reduce((sum, body) => sum + varintBytes(body) + body, HEADER_BYTES);
  const bytes = Buffer.allocUnsafe(size);
  bytes.writeBigInt64BE(0n, 0);
  bytes.writeInt32BE(size - 12, 8);
  bytes.writeInt32BE(-1, 12);
  bytes.writeInt8(2, 16);
  bytes.writeInt16BE(head.transactional ? TRANSACTIONAL : 0, 21);
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
  bytes.writeUInt32BE(crc32c(bytes, CRC_COVERS_FROM), 17);
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

/** Castagnoli's CRC, eight bytes a step. */
const tables = Array.from({ length: 8 }, () => new Uint32Array(256));
const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as [
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
];
for (let byte = 0; byte < 256; byte += 1) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) {
    crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  t0[byte] = crc;
}
for (let byte = 0; byte < 256; byte += 1) {
  tables.slice(1).reduce(
    (crc, table) => {
      const next = (crc >>> 8) ^ at(t0, crc & 0xff);
      table[byte] = next;
      return next;
    },
    at(t0, byte),
  );
}

function at(table: Uint32Array, index: number): number {
  return table[index] as number;
}

/** The CRC-32C of the bytes from `start` to the end. */
export function crc32c(bytes: Buffer, start: number): number {
  let crc = 0xffffffff;
  let i = start;
  for (; i + 8 <= bytes.length; i += 8) {
    const low = crc ^ bytes.readInt32LE(i);
    const high = bytes.readInt32LE(i + 4);
    crc =
      at(t7, low & 0xff) ^
      at(t6, (low >>> 8) & 0xff) ^
      at(t5, (low >>> 16) & 0xff) ^
      at(t4, low >>> 24) ^
      at(t3, high & 0xff) ^
      at(t2, (high >>> 8) & 0xff) ^
      at(t1, (high >>> 16) & 0xff) ^
      at(t0, high >>> 24);
  }
  for (; i < bytes.length; i += 1) {
    crc = (crc >>> 8) ^ at(t0, (crc ^ (bytes[i] ?? 0)) & 0xff);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
