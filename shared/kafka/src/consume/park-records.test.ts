import { describe, expect, test } from '@jest/globals';
import { RecordTooLarge } from '../failures.js';
import type { LogRecord } from '../log.js';
import { bytesOf } from '../produce/encode-batch.js';
import { Parking } from './park-records.js';

const BYTES_MAX = 10_000;

/** What lands on a parked topic that takes records up to a size, as every topic does. */
async function park(record: Partial<LogRecord>): Promise<LogRecord[]> {
  const stored: LogRecord[] = [];
  const append = async (records: readonly LogRecord[]) => {
    if (records.some((each) => bytesOf(each) > BYTES_MAX)) throw new RecordTooLarge('too large');
    stored.push(...records);
    return [];
  };
  const base = { topic: 'facts', partition: 3, key: 'k', value: Buffer.from('v'), headers: { note: 'v' } };
  const parking = new Parking({ append }, 'parked', async () => 8);
  await parking.parkRecord({ ...base, ...record, offset: 7n, timestampMs: 0 }, 'why');
  return stored;
}

const origin = {
  'parked-topic': 'facts',
  'parked-partition': '3',
  'parked-offset': '7',
  'parked-reason': 'why',
};

describe('a record that can never be handled', () => {
  test('is parked as it is, and its origin with it', async () => {
    expect(await park({})).toMatchObject([{ topic: 'parked', key: 'k', headers: { note: 'v', ...origin } }]);
  });

  test('is parked without its value where that is too large', async () => {
    const [parked, ...more] = await park({ value: Buffer.alloc(BYTES_MAX) });
    expect(parked).toMatchObject({ key: 'k', value: null });
    expect(parked?.headers).toEqual({ note: 'v', ...origin, 'parked-value-omitted': 'true' });
    expect(more).toEqual([]);
  });

  test.each([{ headers: { note: 'x'.repeat(BYTES_MAX) } }, { key: 'x'.repeat(BYTES_MAX) }])(
    'is parked as a mere note of its offset where nothing else of it fits, so that its partition goes on',
    async (record) => {
      const [parked] = await park(record);
      expect(parked).toMatchObject({ key: '', value: null });
      expect(parked?.headers).toEqual({ ...origin, 'parked-value-omitted': 'true', 'parked-headers-omitted': 'true' });
    },
  );
});

test('a batch that cannot be decoded is parked as a whole, with its bytes where they fit', async () => {
  const stored: LogRecord[] = [];
  const append = async (records: readonly LogRecord[]) => {
    if (records.some((each) => bytesOf(each) > BYTES_MAX)) throw new RecordTooLarge('too large');
    stored.push(...records);
    return [];
  };
  const parking = new Parking({ append }, 'parked', async () => 8);
  const batch = {
    topic: 'facts',
    partition: 3,
    baseOffset: 7n,
    nextOffset: 9n,
    reason: 'why',
    bytes: Buffer.from('b'),
  };
  await parking.parkBatch(batch);
  await parking.parkBatch({ ...batch, bytes: Buffer.alloc(BYTES_MAX) });
  const headers = { ...origin, 'parked-next-offset': '9' };
  expect(stored).toMatchObject([
    { key: '', value: batch.bytes, headers },
    { key: '', value: null, headers: { ...headers, 'parked-value-omitted': 'true' } },
  ]);
});
