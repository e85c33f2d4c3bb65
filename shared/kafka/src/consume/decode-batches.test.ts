import { describe, expect, test } from '@jest/globals';
import { crc32c } from '@platformatic/kafka';
import type { LogRecord } from '../log.js';
import { encodeBatch } from '../produce/encode-batch.js';
import { recordOf } from '../testing/open-test-log.js';
import { decodeBatches } from './decode-batches.js';
import type { FetchedPartition } from './fetch-request.js';

const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;
const TIME_MS = 1_700_000_000_000;

describe('what a reader takes from a fetched partition', () => {
  test('records carry offset, time, key, value and headers', () => {
    const { records, nextOffset } = decode([batch({ baseOffset: 7n, values: ['one', 'two'] })], 7n);
    expect(
      records.map(({ offset, key, value, headers, timestampMs }) => [offset, key, String(value), headers, timestampMs]),
    ).toEqual([
      [7n, 'key', 'one', { note: 'one' }, 1_700_000_000_000],
      [8n, 'key', 'two', { note: 'two' }, 1_700_000_000_001],
    ]);
    expect(nextOffset).toBe(9n);
  });

  test.each([
    ['before the wanted offset', batch({ baseOffset: 0n, values: ['a', 'b', 'c'] }), 2n, [2n], 3n],
    ['that compaction removed', batch({ baseOffset: 0n, values: ['a'], lastOffsetDelta: 9 }), 0n, [0n], 10n],
    [
      'of a batch that it emptied',
      batch({ baseOffset: 3n, values: [], raw: Buffer.alloc(0), lastOffsetDelta: 4 }),
      3n,
      [],
      8n,
    ],
    ['of control', marker({ baseOffset: 5n, producerId: 1n, commit: true }), 5n, [], 6n],
  ])('records %s are left out, and the position moves past them', (_what, bytes, from, offsets, end) => {
    const { records, nextOffset } = decode([bytes], from);
    expect([records.map(({ offset }) => offset), nextOffset]).toEqual([offsets, end]);
  });

  test('an aborted transaction is left out, and later records of its producer are read again', () => {
    const batches = [
      batch({ baseOffset: 0n, values: ['aborted'], producerId: 1n, attributes: TRANSACTIONAL }),
      batch({ baseOffset: 1n, values: ['plain'] }),
      batch({ baseOffset: 2n, values: ['other'], producerId: 2n, attributes: TRANSACTIONAL }),
      marker({ baseOffset: 3n, producerId: 1n, commit: false }),
      batch({ baseOffset: 4n, values: ['kept'], producerId: 1n, attributes: TRANSACTIONAL }),
      marker({ baseOffset: 5n, producerId: 1n, commit: true }),
    ];
    const { records, nextOffset } = decode(batches, 0n, [{ producerId: 1n, firstOffset: 0n }]);
    expect(records.map(({ value }) => String(value))).toEqual(['plain', 'other', 'kept']);
    expect(nextOffset).toBe(6n);
  });

  test('two overlapping aborted transactions are both left out, in whatever order the broker names them', () => {
    const batches = [
      batch({ baseOffset: 0n, values: ['a'], producerId: 1n, attributes: TRANSACTIONAL }),
      batch({ baseOffset: 1n, values: ['b'], producerId: 2n, attributes: TRANSACTIONAL }),
      marker({ baseOffset: 2n, producerId: 1n, commit: false }),
      marker({ baseOffset: 3n, producerId: 2n, commit: false }),
    ];
    const aborted = [
      { producerId: 2n, firstOffset: 1n },
      { producerId: 1n, firstOffset: 0n },
    ];
    expect(decode(batches, 0n, aborted).records).toEqual([]);
  });

  test('a batch cut off by the size of the response waits for the next fetch', () => {
    const whole = batch({ baseOffset: 0n, values: ['a'] });
    const cut = batch({ baseOffset: 1n, values: ['b'] }).subarray(0, 70);
    expect(decode([whole, cut], 0n).nextOffset).toBe(1n);
  });
});

describe('a batch that cannot be decoded', () => {
  const good = (baseOffset: bigint) => batch({ baseOffset, values: ['good'] });
  const flip = (bytes: Buffer, at: number) => {
    bytes.writeUInt8(bytes.readUInt8(at) ^ 0xff, at);
    return bytes;
  };
  const long = batch({ baseOffset: 1n, values: ['a', 'b', 'c'] });

  test.each([
    ['an unknown codec', batch({ baseOffset: 1n, values: ['a', 'b', 'c'], attributes: 5 }), 'bitmask 5'],
    ['a wrong CRC', flip(Buffer.from(long), long.length - 1), 'the CRC is wrong'],
    ['broken records', batch({ baseOffset: 1n, values: ['a'], raw: Buffer.from([2, 0, 9, 9]) }), 'Out of bounds'],
    ['an old format', flip(Buffer.from(long), 16), 'messages of format'],
  ])('because of %s ends the records before it, and is returned itself if it comes first', (_, broken, reason) => {
    expect(decode([good(0n), broken, good(4n)], 0n)).toMatchObject({ nextOffset: 1n, records: [{ offset: 0n }] });
    const { records, nextOffset } = decode([broken, good(4n)], 1n);
    expect(nextOffset).toBe(4n);
    const whole = { topic: 'topic', partition: 0, offset: 1n, key: '', value: broken };
    const headers = { 'parked-next-offset': '4' };
    expect(records).toMatchObject([{ ...whole, headers, unreadable: expect.stringContaining(reason) }]);
    expect(decode([good(4n)], nextOffset).records).toHaveLength(1);
  });

  test('as the last of a response ends where its header says, or at the next offset if that is broken too', () => {
    const broken = flip(Buffer.from(long), long.length - 1);
    expect(decode([broken], 1n).nextOffset).toBe(4n);
    expect(decode([broken], 3n).nextOffset).toBe(4n);
    // The header may be broken too. The position still moves, and never beyond the log's end.
    const lying = Buffer.from(broken);
    lying.writeInt32BE(1_000_000, 23);
    expect(decode([lying], 1n).nextOffset).toBe(2n);
    lying.writeInt32BE(-5, 23);
    expect(decode([lying], 1n).nextOffset).toBe(2n);
  });

  test('of an aborted transaction is skipped like its other batches', () => {
    const aborted = batch({ baseOffset: 0n, values: ['a'], producerId: 1n, attributes: TRANSACTIONAL | 5 });
    const end = marker({ baseOffset: 1n, producerId: 1n, commit: false });
    expect(decode([aborted, end], 0n, [{ producerId: 1n, firstOffset: 0n }])).toEqual({ records: [], nextOffset: 2n });
  });
});

function decode(batches: readonly Buffer[], from: bigint, aborted: FetchedPartition['aborted'] = []) {
  const bytes = Buffer.concat(batches);
  return decodeBatches('topic', { partition: 0, errorCode: 0, highWatermark: 100n, aborted, bytes }, from, 'utf8');
}

interface BatchOf {
  readonly baseOffset: bigint;
  readonly values?: readonly string[];
  readonly producerId?: bigint;
  readonly attributes?: number;
  readonly lastOffsetDelta?: number;
  /** Bytes to use instead of the encoded records. */
  readonly raw?: Buffer;
  readonly records?: readonly LogRecord[];
}

/** An encoded batch with changed fields in its header. */
function batch({ baseOffset, values = [], producerId = -1n, attributes = 0, lastOffsetDelta, raw, ...given }: BatchOf) {
  const { records = values.map((value, n) => ({ ...recordOf('topic', 0, 'key', value), timestampMs: TIME_MS + n })) } =
    given;
  const producer = { id: producerId, epoch: 0, sequence: 0 };
  const encoded = records.length > 0 ? records : [recordOf('topic', 0, 'any')];
  const sent = encodeBatch({ topic: 'topic', partition: 0, records: encoded, bytes: 1_000, producer }, undefined);
  const bytes = raw === undefined ? sent : Buffer.concat([sent.subarray(0, 61), raw]);
  bytes.writeBigInt64BE(baseOffset, 0);
  bytes.writeInt32BE(bytes.length - 12, 8);
  bytes.writeInt16BE(attributes, 21);
  bytes.writeInt32BE(records.length, 57);
  bytes.writeInt32BE(lastOffsetDelta ?? Math.max(0, records.length - 1), 23);
  bytes.writeUInt32BE(crc32c(bytes.subarray(21)), 17);
  return bytes;
}

function marker({ commit, ...of }: { baseOffset: bigint; producerId: bigint; commit: boolean }): Buffer {
  const records = [{ topic: 'topic', partition: 0, key: `\0\0\0${commit ? '\x01' : '\0'}`, value: null, headers: {} }];
  return batch({ ...of, records, attributes: TRANSACTIONAL | CONTROL });
}
