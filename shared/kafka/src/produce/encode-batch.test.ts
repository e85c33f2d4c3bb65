import { describe, expect, test } from '@jest/globals';
import { decodeBatches } from '../consume/decode-batches.js';
import type { LogRecord } from '../log.js';
import { bytesOf, encodeBatch } from './encode-batch.js';

const HEADER_BYTES = 61;

describe('encoding a record batch', () => {
  test('what is encoded is read back the same: tombstones, empty and long values, many records, every header', () => {
    const records: LogRecord[] = Array.from({ length: 300 }, (_, n) => ({
      topic: 'topic',
      partition: 3,
      key: n % 5 === 0 ? '' : `kéy-${n}`,
      value: n % 7 === 0 ? null : Buffer.alloc(n % 3 === 0 ? n * 70 : 0, n),
      headers: Object.fromEntries(Array.from({ length: n % 4 }, (__, h) => [`h${h}`, `€${'x'.repeat(n)}`])),
      // Some are older than the first.
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
    expect(read).toEqual(records.map((record, n) => ({ ...record, offset: BigInt(n) })));
  });
});
