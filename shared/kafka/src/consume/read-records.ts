import { compressionsAlgorithmsByBitmask } from '@platformatic/kafka';
import type { StoredRecord, TopicPartition } from '../log.js';

const RECORDS_FROM = 61;
const CODEC = 0x07;
const LOG_APPEND_TIME = 0x08;

/**
 * Reads the records of a batch from an offset on. Values share memory with the batch, or with its unpacked form. Leaves
 * out a header named `__proto__`.
 * @param batch a whole batch of format 2
 * @param encoding the encoding of header values
 * @throws Error if the codec is unknown or the records are broken
 */
export function readRecords(
  batch: Buffer,
  place: TopicPartition,
  fromOffset: bigint,
  encoding: 'utf8' | 'latin1',
): StoredRecord[] {
  const records: StoredRecord[] = [];
  const { topic, partition } = place;
  const attributes = batch.readInt16BE(21);
  const firstOffset = batch.readBigInt64BE(0);
  const [firstMs, lastMs] = [Number(batch.readBigInt64BE(27)), Number(batch.readBigInt64BE(35))];
  const isStampedByBroker = (attributes & LOG_APPEND_TIME) !== 0;
  const fields = new Fields(unpack(batch.subarray(RECORDS_FROM), attributes & CODEC));
  for (let left = batch.readInt32BE(57); left > 0; left -= 1) {
    // Skip the record's length and its attributes.
    fields.number();
    fields.skip(1);
    const afterMs = fields.number();
    const offset = firstOffset + BigInt(fields.number());
    const key = fields.text(0, 'utf8');
    const value = fields.bytes();
    const headers: Record<string, string> = {};
    const slots = 2 * fields.number();
    for (let slot = 1; slot < slots; slot += 2) headers[fields.text(slot, 'utf8')] = fields.text(slot + 1, encoding);
    const timestampMs = isStampedByBroker ? lastMs : firstMs + afterMs;
    if (offset >= fromOffset) records.push({ topic, partition, offset, timestampMs, key, value, headers });
  }
  return records;
}

function unpack(bytes: Buffer, codec: number): Buffer {
  if (codec === 0) return bytes;
  const algorithm = compressionsAlgorithmsByBitmask[codec];
  if (algorithm === undefined) throw new Error(`Unsupported compression algorithm with bitmask ${codec}`);
  return algorithm.decompressSync(bytes);
}

/** Reads one field after the other. @throws RangeError after the last byte */
class Fields {
  readonly #bytes: Buffer;
  #at = 0;
  /** The last text of each slot, its place and its length in bytes. */
  readonly #texts: string[] = [];
  readonly #starts: number[] = [];
  readonly #lengths: number[] = [];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Reads a zigzag varint: a whole number below 2^52. */
  number(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#bytes[this.skip(1)] ?? 0;
      value += (byte % 128) * factor;
      if (byte < 128) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
  }

  bytes(): Buffer | null {
    const length = this.number();
    if (length < 0) return null;
    const start = this.skip(length);
    return this.#bytes.subarray(start, start + length);
  }

  /**
   * Reads a text. Reuses the text of the record before if it is the same: records of a batch mostly share their
   * headers.
   * @param slot the number of the field in the record
   */
  text(slot: number, encoding: 'utf8' | 'latin1'): string {
    const length = Math.max(0, this.number());
    const start = this.skip(length);
    const before = this.#texts[slot];
    if (
      before !== undefined &&
      this.#lengths[slot] === length &&
      this.#equals(this.#starts[slot] ?? 0, start, length)
    ) {
      return before;
    }
    const text = this.#bytes.toString(encoding, start, start + length);
    this.#texts[slot] = text;
    this.#starts[slot] = start;
    this.#lengths[slot] = length;
    return text;
  }

  /** @returns the place before the skip */
  skip(length: number): number {
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.length) throw new RangeError('Out of bounds: a record is longer than its batch');
    return start;
  }

  #equals(one: number, other: number, length: number): boolean {
    const bytes = this.#bytes;
    for (let n = 0; n < length; n += 1) if (bytes[one + n] !== bytes[other + n]) return false;
    return true;
  }
}
