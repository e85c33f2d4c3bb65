import { describe, expect, test } from '@jest/globals';
import { RecordTooLarge } from '../failures.js';
import type { LogRecord } from '../log.js';
import { bytesOf } from '../produce/encode-batch.js';
import { parkIn } from './park-records.js';

const BYTES_MAX = 10_000;

/** Parks a record on a topic with a size limit, as every topic has. Returns what is stored. */
async function park(record: Partial<LogRecord>): Promise<LogRecord[]> {
  const stored: LogRecord[] = [];
  const append = async (records: readonly LogRecord[]) => {
    if (records.some((each) => bytesOf(each) > BYTES_MAX)) throw new RecordTooLarge('too large');
    stored.push(...records);
    return [];
  };
  const base = { topic: 'facts', partition: 3, key: 'k', value: Buffer.from('v'), headers: { note: 'v' } };
  await parkIn('parked', { append })({ ...base, offset: 7n, timestampMs: 0, ...record }, 'why');
  return stored;
}

const origin = {
  'parked-topic': 'facts',
  'parked-partition': '3',
  'parked-offset': '7',
  'parked-reason': 'why',
};

describe('a record that can never be handled', () => {
  test('is parked without its value if that is too large', async () => {
    const [parked, ...more] = await park({ value: Buffer.alloc(BYTES_MAX) });
    expect(parked).toMatchObject({ topic: 'parked', partition: 3, key: 'k', value: null });
    expect(parked?.headers).toEqual({ note: 'v', ...origin, 'parked-value-omitted': 'true' });
    expect(more).toEqual([]);
  });

  test.each([{ headers: { note: 'x'.repeat(BYTES_MAX) } }, { key: 'x'.repeat(BYTES_MAX) }])(
    'is parked as a mere note of its offset if nothing else fits, so that its partition goes on',
    async (record) => {
      const [parked] = await park(record);
      expect(parked).toMatchObject({ key: '', value: null });
      expect(parked?.headers).toEqual({ ...origin, 'parked-value-omitted': 'true', 'parked-headers-omitted': 'true' });
    },
  );
});
