import { describe, expect, test } from '@jest/globals';
import { afterTheEnd } from './follow-orders.js';
import type { OrderChange } from './status-of.js';

describe('after an order has left the feed', () => {
  const gone = (removal: string) =>
    ({ kind: 'removed', removal, id: { offset: 4n, index: 0 } }) as unknown as OrderChange;
  const entry = { kind: 'entry', entry: { status: 'ACTIVE' }, id: { offset: 5n, index: 0 } } as unknown as OrderChange;

  test.each(['CANCELLED', 'CANCELLED_ONCHAIN', 'NONCE_CHANGED', 'FILLED', 'EXPIRED', 'GRACE_PERIOD'])(
    'with %s any message is wrong',
    (removal) => {
      expect(afterTheEnd([entry, gone(removal)], entry)).toMatch(/^ACTIVE .* came after gone/);
      expect(afterTheEnd([gone(removal)], gone('EXPIRED'))).toMatch(/^gone EXPIRED .* came after/);
    },
  );

  test.each(['QUARANTINED', 'SUSPENDED'])('with %s it may come back', (removal) => {
    expect(afterTheEnd([gone(removal)], entry)).toBeUndefined();
    expect(afterTheEnd([entry], gone('FILLED'))).toBeUndefined();
  });
});
