import { describe, expect, test } from '@jest/globals';
import type { StoredRecord } from '@makerbook/kafka';
import { ParkedMessages } from './handle-parked.js';

const maker = `0x${'1'.repeat(40)}`;

function parked(offset: number, more: Record<string, string> = {}): StoredRecord {
  const origin = { 'parked-topic': 'log', 'parked-partition': '3', 'parked-offset': '7', 'parked-reason': 'broken' };
  return {
    topic: 'parked',
    partition: 1,
    offset: BigInt(offset),
    timestampMs: offset,
    key: maker,
    value: Buffer.from('{}'),
    headers: { ce_type: 'a', ...origin, ...more },
  };
}

function gather(...records: StoredRecord[]) {
  const parked = new ParkedMessages(() => true);
  for (const record of records) parked.take(record);
  return [...new Set(['3:7', `3:7:${maker}`])].flatMap((id) => parked.find(id)?.message ?? []);
}

describe('a parked message', () => {
  test('has its own headers, without those of its parking', () => {
    expect(gather(parked(1))).toEqual([
      {
        id: '3:7',
        topic: 'log',
        partition: 3,
        offset: '7',
        reason: 'broken',
        maker: undefined,
        key: maker,
        value: '{}',
        headers: { ce_type: 'a' },
        parkedAtMs: 1,
        obstacle: undefined,
        resolution: undefined,
      },
    ]);
  });

  test('counts once even if parked twice, and a note resolves it in any order', () => {
    const note = parked(2, { resolution: 'discarded' });
    expect(gather(parked(3), parked(1), note)).toMatchObject([{ parkedAtMs: 1, resolution: 'discarded' }]);
    expect(gather(note)).toEqual([]);
  });

  test('for one maker is separate from the one for all makers, and is not replayed', () => {
    const own = { 'parked-maker': maker };
    const all = gather(parked(1), parked(2, own), parked(3, { ...own, resolution: 'discarded' }));
    expect(all).toMatchObject([
      { id: '3:7', obstacle: undefined, resolution: undefined },
      { id: `3:7:${maker}`, obstacle: expect.stringContaining(`makers release ${maker}`), resolution: 'discarded' },
    ]);
  });

  test.each([
    [{ 'parked-next-offset': '9' }, /cannot be decoded/],
    [{ 'parked-value-omitted': 'true' }, /too large/],
  ])('with %j is not replayed', (more, obstacle) => {
    expect(gather(parked(1, more))).toMatchObject([{ obstacle: expect.stringMatching(obstacle) }]);
  });

  test('is listed while it is open, oldest first, and with its value only on request', () => {
    const messages = new ParkedMessages((id) => id === '3:9');
    const at = (offset: string) => ({ 'parked-offset': offset });
    const records = [parked(3, at('9')), parked(1, at('8')), parked(2), parked(4, { resolution: 'replayed' })];
    for (const record of records) messages.take(record);
    expect(messages.open().map(({ id, value }) => [id, value])).toEqual([
      ['3:8', null],
      ['3:9', '{}'],
    ]);
  });
});
