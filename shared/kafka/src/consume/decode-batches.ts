import { compressionsAlgorithmsByBitmask, crc32c } from '@platformatic/kafka';
import type { StoredRecord } from '../log.js';
import type { AbortedTransaction, FetchedPartition } from './fetch-request.js';

const HEADER_BYTES = 61;
const LENGTH_COVERS_FROM = 12;
const CRC_COVERS_FROM = 21;
const COMPRESSION_MASK = 0x07;
const LOG_APPEND_TIME = 0x08;
const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;

/** A record batch of the log that cannot be decoded: an unknown codec, a wrong CRC, broken records. */
export interface UnreadableBatch {
  readonly topic: string;
  readonly partition: number;
  readonly baseOffset: bigint;
  /** The first offset behind it. */
  readonly nextOffset: bigint;
  readonly reason: string;
  /** The batch as it is stored, with its header. */
  readonly bytes: Buffer;
}

/** The committed records of a partition from some offset on, and the offset to go on from. */
export interface Decoded {
  readonly records: readonly StoredRecord[];
  readonly nextOffset: bigint;
  /** The first batch, where it cannot be decoded; then there are no records, and `nextOffset` lies behind it. */
  readonly unreadable?: UnreadableBatch;
}

interface Batch {
  readonly bytes: Buffer;
  readonly baseOffset: bigint;
  readonly lastOffset: bigint;
  readonly attributes: number;
  readonly producerId: bigint;
  readonly count: number;
}

/**
 * The committed records from `fromOffset` on, and the offset after the last whole batch: behind control records,
 * aborted records and what compaction has removed, so that a reader's position never waits before a gap. A batch that
 * cannot be decoded ends what is returned; where it is the first, it is returned itself. Values share memory with the
 * response.
 */
export function decodeBatches(
  topic: string,
  fetched: FetchedPartition,
  fromOffset: bigint,
  encoding: 'utf8' | 'latin1',
): Decoded {
  const place = { topic, partition: fetched.partition };
  const records: StoredRecord[] = [];
  let { aborted } = fetched;
  let nextOffset = fromOffset;
  for (const batch of wholeBatches(fetched.bytes)) {
    try {
      assertIntact(batch);
      const { attributes, producerId, lastOffset } = batch;
      const isOfBatch = (one: AbortedTransaction) => one.producerId === producerId && one.firstOffset <= lastOffset;
      if ((attributes & CONTROL) !== 0) {
        // A producer has one transaction at a time: its next marker ends it.
        aborted = aborted.filter((one) => !isOfBatch(one));
      } else if ((attributes & TRANSACTIONAL) === 0 || !aborted.some(isOfBatch)) {
        for (const record of readRecords(batch, place, fromOffset, encoding)) {
          records.push(record);
        }
      }
    } catch (error) {
      if (nextOffset > fromOffset) {
        return { records, nextOffset };
      }
      return { records: [], ...describeUnreadable(batch, place, fetched, fromOffset, (error as Error).message) };
    }
    nextOffset = batch.lastOffset < nextOffset ? nextOffset : batch.lastOffset + 1n;
  }
  return { records, nextOffset };
}

function* wholeBatches(bytes: Buffer): Generator<Batch> {
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const end = at + LENGTH_COVERS_FROM + bytes.readInt32BE(at + 8);
    if (end > bytes.length || end < at + HEADER_BYTES) {
      return;
    }
    const baseOffset = bytes.readBigInt64BE(at);
    yield {
      bytes: bytes.subarray(at, end),
      baseOffset,
      lastOffset: baseOffset + BigInt(bytes.readInt32BE(at + 23)),
      attributes: bytes.readInt16BE(at + 21),
      producerId: bytes.readBigInt64BE(at + 43),
      count: bytes.readInt32BE(at + 57),
    };
    at = end;
  }
}

function assertIntact({ bytes }: Batch): void {
  const magic = bytes.readInt8(16);
  if (magic !== 2) {
    throw new Error(`messages of format ${magic}, older than Kafka 0.11`);
  }
  if (crc32c(bytes.subarray(CRC_COVERS_FROM)) !== bytes.readUInt32BE(17)) {
    throw new Error('the CRC is wrong');
  }
}

/** The position behind a batch: where its own end is not to be trusted, the next batch's, else one offset further. */
function describeUnreadable(
  { bytes, baseOffset, lastOffset }: Batch,
  place: { readonly topic: string; readonly partition: number },
  fetched: FetchedPartition,
  fromOffset: bigint,
  reason: string,
): { readonly nextOffset: bigint; readonly unreadable: UnreadableBatch } {
  const following = fetched.bytes.subarray(bytes.length);
  const candidates = [following.length < 8 ? 0n : following.readBigInt64BE(0), lastOffset + 1n, fromOffset + 1n];
  const nextOffset = candidates.find((offset) => offset > fromOffset && offset <= fetched.highWatermark);
  const behind = nextOffset ?? fromOffset + 1n;
  return { nextOffset: behind, unreadable: { ...place, baseOffset, nextOffset: behind, reason, bytes } };
}

function readRecords(
  batch: Batch,
  { topic, partition }: { readonly topic: string; readonly partition: number },
  fromOffset: bigint,
  encoding: 'utf8' | 'latin1',
): StoredRecord[] {
  const { bytes, baseOffset, attributes, count } = batch;
  const content = decompress(batch);
  const firstTimestamp = Number(bytes.readBigInt64BE(27));
  const appendedAt = (attributes & LOG_APPEND_TIME) !== 0 ? Number(bytes.readBigInt64BE(35)) : undefined;
  const records: StoredRecord[] = [];
  const cursor = { at: 0 };
  for (let index = 0; index < count; index += 1) {
    const length = readVarint(content, cursor);
    const end = cursor.at + length;
    cursor.at += 1;
    const timestampMs = appendedAt ?? firstTimestamp + readVarint(content, cursor);
    if (appendedAt !== undefined) {
      readVarint(content, cursor);
    }
    const offset = baseOffset + BigInt(readVarint(content, cursor));
    if (offset >= fromOffset) {
      const key = readText(content, cursor, 'utf8');
      const value = readBytes(content, cursor);
      const headers: Record<string, string> = {};
      for (let left = readVarint(content, cursor); left > 0; left -= 1) {
        const name = readText(content, cursor, 'utf8');
        headers[name] = readText(content, cursor, encoding);
      }
      records.push({ topic, partition, offset, timestampMs, key, value, headers });
    }
    if (length < 0 || end > content.length || cursor.at > end) {
      throw new Error('a record reaches beyond its length');
    }
    cursor.at = end;
  }
  return records;
}

function readBytes(content: Buffer, cursor: { at: number }): Buffer | null {
  const length = readVarint(content, cursor);
  if (length < 0) {
    return null;
  }
  cursor.at += length;
  return content.subarray(cursor.at - length, cursor.at);
}

function readText(content: Buffer, cursor: { at: number }, encoding: 'utf8' | 'latin1'): string {
  const length = Math.max(0, readVarint(content, cursor));
  cursor.at += length;
  return content.toString(encoding, cursor.at - length, cursor.at);
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

function decompress({ bytes, attributes }: Batch): Buffer {
  const codec = attributes & COMPRESSION_MASK;
  const content = bytes.subarray(HEADER_BYTES);
  if (codec === 0) {
    return content;
  }
  const algorithm = compressionsAlgorithmsByBitmask[codec];
  if (algorithm === undefined) {
    throw new Error(`the compression codec ${codec} is not known`);
  }
  return algorithm.decompressSync(content);
}
