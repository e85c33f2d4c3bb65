import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createRecordsBatch, NumericMap } from '@platformatic/kafka';
import fc from 'fast-check';
import { decodeBatches } from '../consume/decode-batches.js';
import { readRecords } from '../consume/read-records.js';
import type { LogRecord } from '../log.js';
import { bytesOf, encodeBatch } from './encode-batch.js';

const HEADER_BYTES = 61;

/** Turns the value into hex, because Jest compares buffers byte by byte. */
const asText = ({ value, ...record }: LogRecord) => ({ ...record, value: value?.toString('hex') });

describe('encoding a record batch', () => {
  test('records are read back as they were encoded: tombstones, empty and long values, many records, headers', () => {
    const records: LogRecord[] = Array.from({ length: 300 }, (_, n) => ({
      topic: 'topic',
      partition: 3,
      key: n % 5 === 0 ? '' : `kéy-${n}`,
      value: n % 7 === 0 ? null : Buffer.alloc(n % 3 === 0 ? n * 70 : 0, n),
      headers: Object.fromEntries(Array.from({ length: n % 4 }, (__, h) => [`h${h}`, `€${'x'.repeat(n)}`])),
      // Some records are older than the first.
      timestampMs: 1_700_000_000_000 + ((n * 7) % 100) * 10_000_000,
    }));
    const bytesMax = records.reduce((sum, record) => sum + bytesOf(record), 0);
    const producer = { id: 1n, epoch: 0, sequence: 12 };
    const bytes = encodeBatch({ topic: 'topic', partition: 3, records, bytes: bytesMax, producer }, undefined);
    expect(bytes.length).toBeLessThanOrEqual(HEADER_BYTES + bytesMax);
    expect([bytes.readBigInt64BE(43), bytes.readInt16BE(51), bytes.readInt32BE(53)]).toEqual([1n, 0, 12]);
    const { records: read, nextOffset } = decodeBatches(
      'topic',
      { partition: 3, errorCode: 0, highWatermark: 0n, aborted: [], bytes },
      0n,
      'utf8',
    );
    expect(nextOffset).toBe(300n);
    expect(read.map(asText)).toEqual(records.map((record, n) => ({ ...asText(record), offset: BigInt(n) })));
  });

  test('a large batch is compressed if that is asked for and makes it smaller', () => {
    const sizeOf = (value: Buffer, isCompressed: boolean) => {
      const records = [{ topic: 'topic', partition: 3, key: 'k', value, headers: {}, timestampMs: 1_700_000_000_000 }];
      const bytes = bytesOf(records[0] as LogRecord);
      const batch = encodeBatch({ topic: 'topic', partition: 3, records, bytes, isCompressed }, undefined);
      const fetched = { partition: 3, errorCode: 0, highWatermark: 0n, aborted: [], bytes: batch };
      expect(decodeBatches('topic', fetched, 0n, 'utf8').records.map(asText)).toMatchObject(records.map(asText));
      return batch.length;
    };
    const text = Buffer.from('a limit order '.repeat(200));
    expect(sizeOf(text, true)).toBeLessThan(sizeOf(text, false) / 10);
    expect(sizeOf(randomBytes(4_000), true)).toBe(sizeOf(randomBytes(4_000), false));
    expect(sizeOf(text.subarray(0, 1_000), true)).toBe(sizeOf(text.subarray(0, 1_000), false));
  });

  test('the bytes are those of the library, with a producer or in a transaction, and zstd is read back', () => {
    const some = fc.oneof(fc.string({ maxLength: 80 }), fc.string({ unit: 'binary', maxLength: 20 }));
    const texts = some.filter((one) => one !== '__proto__');
    const value = fc.tuple(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(1, 1, 60));
    const record = fc.record({
      key: texts,
      value: fc.option(value.map(([body, times]) => Buffer.concat(Array.from({ length: times }, () => body)))),
      headers: fc.dictionary(texts, texts, { maxKeys: 8 }),
      // The library's timestamps are wrong if two are 2^31 ms apart.
      timestampMs: fc.integer({ min: 1_700_000_000_000, max: 1_700_000_000_000 + 2 ** 31 - 1 }),
    });
    const producer = fc.record({
      id: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
      epoch: fc.nat({ max: 32_766 }),
      sequence: fc.nat({ max: 2 ** 31 - 1 }),
    });
    const batch = fc.record({
      records: fc.array(record, { minLength: 1, maxLength: 5 }),
      producer: fc.option(producer, { nil: undefined }),
      transactionalId: fc.constantFrom(undefined, 'id'),
      compression: fc.constantFrom<'none' | 'zstd'>('none', 'zstd'),
    });
    fc.assert(
      fc.property(batch, ({ records: drawn, producer: as, transactionalId, compression }) => {
        const records = drawn.map((one) => ({ topic: 'topic', partition: 3, ...one }));
        const bytes = records.reduce((sum, one) => sum + bytesOf(one), 0);
        const own = { topic: 'topic', partition: 3, records, bytes, ...(as && { producer: as }) };
        const messages = records.map(({ key, value: bodies, headers, timestampMs, ...place }) => ({
          ...place,
          key: Buffer.from(key),
          value: bodies as Buffer,
          headers: new Map(Object.entries(headers).map(([name, text]) => [Buffer.from(name), Buffer.from(text)])),
          timestamp: BigInt(timestampMs),
        }));
        const sequences = new NumericMap([['topic:3', as?.sequence ?? 0]]);
        const options = { producerId: as?.id ?? -1n, producerEpoch: as?.epoch ?? 0, sequences, transactionalId };
        expect(createRecordsBatch(messages, options).buffer.equals(encodeBatch(own, transactionalId))).toBe(true);
        const packed = createRecordsBatch(messages, { ...options, compression }).buffer;
        const read = readRecords(packed, { topic: 'topic', partition: 3 }, 0n, 'utf8');
        expect(read.map(asText)).toEqual(records.map((one, n) => ({ ...asText(one), offset: BigInt(n) })));
      }),
      { numRuns: 50 },
    );
  });
});
