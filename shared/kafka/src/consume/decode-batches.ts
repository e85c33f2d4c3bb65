import { crc32c } from '@platformatic/kafka';
import type { StoredRecord, TopicPartition } from '../log.js';
import type { AbortedTransaction, FetchedPartition } from './fetch-request.js';
import { readRecords } from './read-records.js';

const HEADER_BYTES = 61;
const LENGTH_COVERS_FROM = 12;
const CRC_COVERS_FROM = 21;
const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;

/** A record. A batch that cannot be decoded becomes the value of one record with the header `parked-next-offset`. */
export interface FetchedRecord extends StoredRecord {
  /** Why the batch cannot be decoded: an unknown codec, a wrong CRC, broken records. */
  readonly unreadable?: string;
}

export interface Decoded {
  readonly records: readonly FetchedRecord[];
  readonly nextOffset: bigint;
}

/**
 * Decodes the committed records from `fromOffset` on. `nextOffset` follows the last whole batch, so a reader's position
 * also moves past control records, aborted records and what compaction has removed. Decoding stops before a batch that
 * cannot be decoded. If that batch is the first one, it is returned alone. Values share memory with the response.
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
  for (const bytes of wholeBatches(fetched.bytes)) {
    const lastOffset = lastOffsetOf(bytes);
    const attributes = bytes.readInt16BE(21);
    const producerId = bytes.readBigInt64BE(43);
    const isOfBatch = (one: AbortedTransaction) => one.producerId === producerId && one.firstOffset <= lastOffset;
    try {
      assertIntact(bytes);
      if ((attributes & CONTROL) !== 0) {
        // A producer has one transaction at a time: its next marker ends it.
        aborted = aborted.filter((one) => !isOfBatch(one));
      } else if ((attributes & TRANSACTIONAL) === 0 || !aborted.some(isOfBatch)) {
        for (const record of readRecords(bytes, place, fromOffset, encoding)) records.push(record);
      }
    } catch (error) {
      if (nextOffset > fromOffset) return { records, nextOffset };
      return describeUnreadable(bytes, place, fetched, fromOffset, (error as Error).message);
    }
    nextOffset = lastOffset < nextOffset ? nextOffset : lastOffset + 1n;
  }
  return { records, nextOffset };
}

function* wholeBatches(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const end = at + LENGTH_COVERS_FROM + bytes.readInt32BE(at + 8);
    if (end > bytes.length || end < at + HEADER_BYTES) return;
    yield bytes.subarray(at, end);
    at = end;
  }
}

function lastOffsetOf(batch: Buffer): bigint {
  return batch.readBigInt64BE(0) + BigInt(batch.readInt32BE(23));
}

function assertIntact(batch: Buffer): void {
  const magic = batch.readInt8(16);
  if (magic !== 2) throw new Error(`messages of format ${magic}, older than Kafka 0.11`);
  if (crc32c(batch.subarray(CRC_COVERS_FROM)) !== batch.readUInt32BE(17)) throw new Error('the CRC is wrong');
}

/** Continues at the next batch, else after this batch's own end, else one offset further: headers may be broken too. */
function describeUnreadable(
  batch: Buffer,
  place: TopicPartition,
  { bytes, highWatermark }: FetchedPartition,
  fromOffset: bigint,
  unreadable: string,
): Decoded {
  const following = bytes.subarray(batch.length);
  const candidates = [following.length < 8 ? 0n : following.readBigInt64BE(0), lastOffsetOf(batch) + 1n];
  const isBehind = (offset: bigint) => offset > fromOffset && offset <= highWatermark;
  const nextOffset = candidates.find(isBehind) ?? fromOffset + 1n;
  const headers = { 'parked-next-offset': String(nextOffset) };
  const record = { ...place, offset: fromOffset, timestampMs: 0, key: '', value: batch, headers, unreadable };
  return { records: [record], nextOffset };
}
