import { gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { decodeFetched, type FetchedPartition } from './decode-fetched.js';

const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;

describe('what a reader takes from a fetched partition', () => {
  test('records carry offset, time, key, value and headers', () => {
    const { records, nextOffset } = decode([batch({ baseOffset: 7n, values: ['one', 'two'] })], 7n);
    expect(
      records.map(({ offset, key, value, headers, timestampMs }) => [offset, key, String(value), headers, timestampMs]),
    ).toEqual([
      [7n, 'key', 'one', { said: 'one' }, 1_700_000_000_000],
      [8n, 'key', 'two', { said: 'two' }, 1_700_000_000_001],
    ]);
    expect(nextOffset).toBe(9n);
  });

  test('records before the wanted offset in the same batch are left out', () => {
    const { records, nextOffset } = decode([batch({ baseOffset: 0n, values: ['a', 'b', 'c'] })], 2n);
    expect(records.map(({ offset }) => offset)).toEqual([2n]);
    expect(nextOffset).toBe(3n);
  });

  test('the position moves behind a batch whose end compaction removed', () => {
    const { records, nextOffset } = decode([batch({ baseOffset: 0n, values: ['a'], lastOffsetDelta: 9 })], 0n);
    expect(records).toHaveLength(1);
    expect(nextOffset).toBe(10n);
  });

  test('the position moves behind a batch that compaction emptied', () => {
    const { records, nextOffset } = decode([batch({ baseOffset: 3n, values: [], lastOffsetDelta: 4 })], 3n);
    expect(records).toEqual([]);
    expect(nextOffset).toBe(8n);
  });

  test('control records move the position and are not handed over', () => {
    const { records, nextOffset } = decode([marker({ baseOffset: 5n, producerId: 1n, commit: true })], 5n);
    expect(records).toEqual([]);
    expect(nextOffset).toBe(6n);
  });

  test('an aborted transaction is left out, and the same producer is heard again after it', () => {
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

  test('two transactions that abort across each other are both left out, in whatever order the broker names them', () => {
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

  test('gzip is read; an unknown compression is an error that names it', () => {
    const packed = batch({ baseOffset: 0n, values: ['a', 'b'], attributes: 1 });
    expect(decode([packed], 0n).records.map(({ value }) => String(value))).toEqual(['a', 'b']);
    expect(() => decode([batch({ baseOffset: 0n, values: ['a'], attributes: 2 })], 0n)).toThrow('codec 2');
  });
});

function decode(batches: readonly Buffer[], from: bigint, aborted: FetchedPartition['aborted'] = []) {
  const bytes = Buffer.concat(batches);
  return decodeFetched('topic', { partition: 0, errorCode: 0, highWatermark: 100n, aborted, bytes }, from, 'utf8');
}

interface BatchOf {
  readonly baseOffset: bigint;
  readonly values: readonly string[];
  readonly producerId?: bigint;
  readonly attributes?: number;
  readonly lastOffsetDelta?: number;
  readonly raw?: Buffer;
}

function batch({ baseOffset, values, producerId = -1n, attributes = 0, lastOffsetDelta, raw }: BatchOf): Buffer {
  const plain = raw ?? Buffer.concat(values.map((value, index) => record(index, 'key', value)));
  const content = (attributes & 7) === 1 ? gzipSync(plain) : plain;
  const header = Buffer.alloc(61);
  header.writeBigInt64BE(baseOffset, 0);
  header.writeInt32BE(49 + content.length, 8);
  header.writeInt8(2, 16);
  header.writeInt16BE(attributes, 21);
  header.writeInt32BE(lastOffsetDelta ?? Math.max(0, values.length - 1), 23);
  header.writeBigInt64BE(1_700_000_000_000n, 27);
  header.writeBigInt64BE(producerId, 43);
  header.writeInt32BE(raw === undefined ? values.length : 1, 57);
  return Buffer.concat([header, content]);
}

function marker(of: { baseOffset: bigint; producerId: bigint; commit: boolean }): Buffer {
  const key = Buffer.from([0, 0, 0, of.commit ? 1 : 0]);
  const body = Buffer.concat([Buffer.from([0]), varint(0), varint(0), varint(key.length), key, varint(-1), varint(0)]);
  const raw = Buffer.concat([varint(body.length), body]);
  return batch({ ...of, values: [], attributes: TRANSACTIONAL | CONTROL, raw });
}

function record(index: number, key: string, value: string): Buffer {
  const text = (part: string) => [varint(Buffer.byteLength(part)), Buffer.from(part)];
  const body = Buffer.concat([
    Buffer.from([0]),
    varint(index),
    varint(index),
    ...text(key),
    ...text(value),
    varint(1),
    ...text('said'),
    ...text(value),
  ]);
  return Buffer.concat([varint(body.length), body]);
}

function varint(value: number): Buffer {
  let rest = value < 0 ? -2 * value - 1 : 2 * value;
  const bytes: number[] = [];
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return Buffer.from([...bytes, rest]);
}
