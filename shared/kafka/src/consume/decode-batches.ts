import { crc32c, Reader, readRecordsBatch } from '@platformatic/kafka';
import type { StoredRecord } from '../log.js';
import type { AbortedTransaction, FetchedPartition } from './fetch-request.js';

const HEADER_BYTES = 61;
const LENGTH_COVERS_FROM = 12;
const CRC_COVERS_FROM = 21;
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
        for (const record of readRecords(batch.bytes, place, fromOffset, encoding)) {
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
  bytes: Buffer,
  place: { readonly topic: string; readonly partition: number },
  fromOffset: bigint,
  encoding: 'utf8' | 'latin1',
): StoredRecord[] {
  const { attributes, firstOffset, firstTimestamp, maxTimestamp, records } = readRecordsBatch(Reader.from(bytes));
  const isStampedByBroker = (attributes & LOG_APPEND_TIME) !== 0;
  const stored = records.map(({ offsetDelta, timestampDelta, key, value, headers }) => ({
    ...place,
    offset: firstOffset + BigInt(offsetDelta),
    timestampMs: Number(isStampedByBroker ? maxTimestamp : firstTimestamp + timestampDelta),
    key: key?.toString() ?? '',
    value,
    headers: Object.fromEntries(headers.map(([name, text]) => [String(name ?? ''), text?.toString(encoding) ?? ''])),
  }));
  return stored.filter(({ offset }) => offset >= fromOffset);
}
