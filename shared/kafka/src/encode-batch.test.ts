import { describe, expect, test } from '@jest/globals';
import { decodeFetched } from './decode-fetched.js';
import { crc32c, encodeBatch } from './encode-batch.js';
import type { LogRecord } from './log.js';

describe('encoding a record batch', () => {
  // The test vectors of RFC 3720, B.4.
  test.each([
    ['32 zeros', Buffer.alloc(32), 0x8a9136aa],
    ['32 ones', Buffer.alloc(32, 0xff), 0x62a8ab43],
    ['counting up', Buffer.from(Array.from({ length: 32 }, (_, n) => n)), 0x46dd794e],
    ['counting down', Buffer.from(Array.from({ length: 32 }, (_, n) => 31 - n)), 0x113fdb5c],
    ['digits', Buffer.from('123456789'), 0xe3069283],
  ])('CRC-32C of %s', (_, bytes, crc) => {
    expect(crc32c(bytes, 0)).toBe(crc);
  });

  test('what is encoded is read back the same: tombstones, empty and long values, many records, every header', () => {
    const records: LogRecord[] = Array.from({ length: 300 }, (_, n) => ({
      topic: 'topic',
      partition: 3,
      key: n % 5 === 0 ? '' : `kéy-${n}`,
      value: n % 7 === 0 ? null : Buffer.alloc(n % 3 === 0 ? n * 70 : 0, n),
      headers: Object.fromEntries(Array.from({ length: n % 4 }, (__, h) => [`h${h}`, `€${'x'.repeat(n)}`])),
    }));
    const head = {
      firstSequence: 12,
      producerId: 1n,
      producerEpoch: 0,
      transactional: false,
      timestampMs: 1_700_000_000_123,
    };
    const bytes = encodeBatch(records, head);
    const { records: read, nextOffset } = decodeFetched(
      'topic',
      { partition: 3, errorCode: 0, highWatermark: 0n, aborted: [], bytes },
      0n,
      'utf8',
    );
    expect(nextOffset).toBe(300n);
    expect(read).toEqual(
      records.map((record, n) => ({ ...record, offset: BigInt(n), timestampMs: 1_700_000_000_123 })),
    );
  });
});
