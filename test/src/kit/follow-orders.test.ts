import { describe, expect, test } from '@jest/globals';
import type { MakerEvent } from '@makerbook/contracts-events';
import { afterTheEnd, noteReadings } from './follow-orders.js';
import type { OrderChange } from './status-of.js';

describe('after an order has left the feed', () => {
  const gone = (removal: string) =>
    ({ kind: 'removed', removal, id: { offset: 4n, index: 0 } }) as unknown as OrderChange;
  const entry = { kind: 'entry', entry: { status: 'ACTIVE' }, id: { offset: 5n, index: 0 } } as unknown as OrderChange;

  test.each(['CANCELLED', 'CANCELLED_ONCHAIN', 'NONCE_CHANGED', 'FILLED', 'EXPIRED', 'GRACE_PERIOD'])(
    'any message is wrong if it left with %s',
    (removal) => {
      expect(afterTheEnd([entry, gone(removal)], entry)).toMatch(/^ACTIVE .* came after gone/);
      expect(afterTheEnd([gone(removal)], gone('EXPIRED'))).toMatch(/^gone EXPIRED .* came after/);
    },
  );

  test.each(['QUARANTINED', 'SUSPENDED'])('it may come back if it left with %s', (removal) => {
    expect(afterTheEnd([gone(removal)], entry)).toBeUndefined();
    expect(afterTheEnd([entry], gone('FILLED'))).toBeUndefined();
  });
});

describe('a reading of an order counts only in time and at a new enough block', () => {
  const fact = (type: string, given: object) => ({ type, ...given }) as unknown as MakerEvent;
  const cancelled = fact('OrderCancelled', { orderHash: '0x1' });
  const readAt = (number: number) => fact('MakerObserved', { block: { number }, orders: [{ orderHash: '0x1' }] });

  test.each([
    ['before it is cancelled', [readAt(7), cancelled], true],
    ['only after it was cancelled', [cancelled, readAt(7)], false],
    ['at a block older than the one processed', [readAt(6), cancelled], false],
  ])('%s', (_, facts, isObserved) => {
    const readings = noteReadings();
    for (const each of facts) readings.add(each, 7);
    expect(readings.isObserved('0x1')).toBe(isObserved);
  });
});
