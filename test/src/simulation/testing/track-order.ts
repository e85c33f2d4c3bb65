import type { TrackedOrder } from '../judge-orders.js';

const maker = `0x${'aa'.repeat(20)}` as const;
const token = `0x${'bb'.repeat(20)}` as const;

/** An order over 10 that was just accepted, and expires at second 1000, unless it is said otherwise. */
export function trackedOrder(given: Partial<TrackedOrder> = {}): TrackedOrder {
  const order = {
    salt: '0x1',
    nonce: '0x0',
    expiresAt: '0x3e8',
    making: { token, amount: '0xa' },
    taking: { token: maker, amount: '0x1' },
    maker,
    permittedTaker: maker,
  } as const;
  return {
    label: '#1',
    signed: { order, orderHash: `0x${'cc'.repeat(32)}`, signature: '0x01' },
    maker,
    token,
    amount: 10n,
    nonce: 0n,
    expiresAt: 1000,
    comparedBeforeBlock: 1,
    isDeleted: false,
    wasDenied: false,
    wasOpen: false,
    wasActive: false,
    isGone: false,
    messagesChecked: 0,
    ...given,
  };
}
