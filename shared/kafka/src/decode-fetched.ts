import { gunzipSync } from 'node:zlib';
import type { StoredRecord } from './log.js';

export interface FetchedPartition {
  readonly partition: number;
  readonly errorCode: number;
  readonly highWatermark: bigint;
  readonly aborted: readonly AbortedTransaction[];
  /** Whole record batches, perhaps followed by a part of one. */
  readonly bytes: Buffer;
}

interface AbortedTransaction {
  readonly producerId: bigint;
  readonly firstOffset: bigint;
}

const BATCH_HEADER_BYTES = 61;
const LENGTH_STARTS_AT = 12;
const COMPRESSION_MASK = 0x07;
const LOG_APPEND_TIME = 0x08;
const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;
const ABORT_MARKER = 0;

/** Takes a Fetch response (version 11) apart, by partition; records stay bytes. */
export function splitFetched(payload: Buffer): { errorCode: number; partitions: readonly FetchedPartition[] } {
  let at = 4;
  const errorCode = payload.readInt16BE(at);
  at += 6;
  const partitions: FetchedPartition[] = [];
  const topics = payload.readInt32BE(at);
  at += 4;
  for (let topic = 0; topic < topics; topic += 1) {
    at += 2 + payload.readInt16BE(at);
    const count = payload.readInt32BE(at);
    at += 4;
    for (let index = 0; index < count; index += 1) {
      const partition = payload.readInt32BE(at);
      const partitionError = payload.readInt16BE(at + 4);
      const highWatermark = payload.readBigInt64BE(at + 6);
      const abortedCount = payload.readInt32BE(at + 30);
      at += 34;
      const aborted: AbortedTransaction[] = [];
      for (let entry = 0; entry < abortedCount; entry += 1) {
        aborted.push({ producerId: payload.readBigInt64BE(at), firstOffset: payload.readBigInt64BE(at + 8) });
        at += 16;
      }
      const size = Math.max(0, payload.readInt32BE(at + 4));
      at += 8;
      partitions.push({
        partition,
        errorCode: partitionError,
        highWatermark,
        aborted,
        bytes: payload.subarray(at, at + size),
      });
      at += size;
    }
  }
  return { errorCode, partitions };
}

/**
 * The committed records from `fromOffset` on, and the offset after the last whole batch: behind control records,
 * aborted records and what compaction has removed, so that a reader's position never stands still before a gap.
 * Values share memory with the response.
 */
export function decodeFetched(
  topic: string,
  fetched: FetchedPartition,
  fromOffset: bigint,
  encoding: 'utf8' | 'latin1',
): { readonly records: StoredRecord[]; readonly nextOffset: bigint } {
  const { bytes, partition } = fetched;
  const records: StoredRecord[] = [];
  const aborted = [...fetched.aborted].sort((one, other) => (one.firstOffset < other.firstOffset ? -1 : 1));
  const aborting = new Set<bigint>();
  let nextOffset = fromOffset;
  for (let at = 0; at + BATCH_HEADER_BYTES <= bytes.length; ) {
    const end = at + LENGTH_STARTS_AT + bytes.readInt32BE(at + 8);
    if (end > bytes.length) {
      break;
    }
    const magic = bytes.readInt8(at + 16);
    if (magic !== 2) {
      throw new Error(`${topic}/${partition} holds messages of format ${magic}, older than Kafka 0.11`);
    }
    const baseOffset = bytes.readBigInt64BE(at);
    const attributes = bytes.readInt16BE(at + 21);
    const lastOffset = baseOffset + BigInt(bytes.readInt32BE(at + 23));
    const producerId = bytes.readBigInt64BE(at + 43);
    const count = bytes.readInt32BE(at + 57);
    while (aborted[0] !== undefined && aborted[0].firstOffset <= lastOffset) {
      aborting.add(aborted[0].producerId);
      aborted.shift();
    }
    const content = decompress(attributes & COMPRESSION_MASK, bytes.subarray(at + BATCH_HEADER_BYTES, end));
    if ((attributes & CONTROL) !== 0) {
      if (count > 0 && controlType(content) === ABORT_MARKER) {
        aborting.delete(producerId);
      }
    } else if ((attributes & TRANSACTIONAL) === 0 || !aborting.has(producerId)) {
      const stamped = (attributes & LOG_APPEND_TIME) !== 0 ? bytes.readBigInt64BE(at + 35) : undefined;
      const batch = { topic, partition, baseOffset, firstTimestamp: Number(bytes.readBigInt64BE(at + 27)), stamped };
      readRecords(content, count, batch, fromOffset, encoding, records);
    }
    if (lastOffset >= nextOffset) {
      nextOffset = lastOffset + 1n;
    }
    at = end;
  }
  return { records, nextOffset };
}

function readRecords(
  content: Buffer,
  count: number,
  batch: { topic: string; partition: number; baseOffset: bigint; firstTimestamp: number; stamped: bigint | undefined },
  fromOffset: bigint,
  encoding: 'utf8' | 'latin1',
  into: StoredRecord[],
): void {
  const cursor = { at: 0 };
  for (let index = 0; index < count; index += 1) {
    const length = readVarint(content, cursor);
    const end = cursor.at + length;
    cursor.at += 1;
    const timestampDelta = readVarint(content, cursor);
    const offset = batch.baseOffset + BigInt(readVarint(content, cursor));
    if (offset >= fromOffset) {
      const key = readBytes(content, cursor);
      const value = readBytes(content, cursor);
      const headers: Record<string, string> = {};
      for (let left = readVarint(content, cursor); left > 0; left -= 1) {
        const name = readBytes(content, cursor)?.toString('utf8') ?? '';
        headers[name] = readBytes(content, cursor)?.toString(encoding) ?? '';
      }
      into.push({
        topic: batch.topic,
        partition: batch.partition,
        offset,
        timestampMs: batch.stamped === undefined ? batch.firstTimestamp + timestampDelta : Number(batch.stamped),
        key: key?.toString('utf8') ?? '',
        value,
        headers,
      });
    }
    cursor.at = end;
  }
}

/** The type in a control record's key: after length, attributes, two deltas and the key's length comes the version. */
function controlType(content: Buffer): number {
  const cursor = { at: 0 };
  readVarint(content, cursor);
  cursor.at += 1;
  readVarint(content, cursor);
  readVarint(content, cursor);
  const key = readBytes(content, cursor);
  return key === null || key.length < 4 ? -1 : key.readInt16BE(2);
}

function readBytes(content: Buffer, cursor: { at: number }): Buffer | null {
  const length = readVarint(content, cursor);
  if (length < 0) {
    return null;
  }
  cursor.at += length;
  return content.subarray(cursor.at - length, cursor.at);
}

/** Zigzag varint; by arithmetic beyond 28 bits, since timestamps take more than 32. */
function readVarint(content: Buffer, cursor: { at: number }): number {
  let value = 0;
  let factor = 1;
  for (;;) {
    const byte = content[cursor.at];
    if (byte === undefined) {
      throw new Error('a record ends before its length');
    }
    cursor.at += 1;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) {
      return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
    factor *= 128;
  }
}

function decompress(codec: number, bytes: Buffer): Buffer {
  switch (codec) {
    case 0:
      return bytes;
    case 1:
      return gunzipSync(bytes);
    default:
      throw new Error(`records are compressed with codec ${codec}; this reader knows none and gzip`);
  }
}
