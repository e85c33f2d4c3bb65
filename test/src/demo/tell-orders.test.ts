import { expect, test } from '@jest/globals';
import type { BookEntry } from '@makerbook/contracts-events';
import type { OrderChange } from '../kit/status-of.js';
import { tellChange, tellOrder } from './tell-orders.js';

const [usdt, weth, other] = [`0x${'aa'.repeat(20)}`, `0x${'bb'.repeat(20)}`, `0x${'cc'.repeat(20)}`] as const;
const tokens = [
  { symbol: 'USDT', address: usdt.toUpperCase().replace('0X', '0x'), decimals: 6 },
  { symbol: 'WETH', address: weth, decimals: 18 },
] as never;
const amount = (token: string, value: bigint) => ({ token, amount: `0x${value.toString(16)}` });
const entryOf = (making: object, taking: object, remaining: bigint) =>
  ({
    orderHash: `0x12345678${'0'.repeat(56)}`,
    order: { making, taking },
    status: 'ACTIVE',
    remainingMakingAmount: `0x${remaining.toString(16)}`,
  }) as unknown as BookEntry;
const entry = entryOf(amount(usdt, 100_000_000n), amount(weth, 4n * 10n ** 16n), 100_000_000n);

test('an order is shown with its pair, its amounts and its price', () => {
  expect(tellOrder(entry, tokens)).toBe('100 USDT for 0.04 WETH, 0.0004 WETH each');
});

test('an order that is filled in part is shown with what is left', () => {
  const rest = { ...entry, remainingMakingAmount: '0x5f5e0ff' } as BookEntry;
  expect(tellOrder(rest, tokens)).toMatch(/, 99\.999999 USDT left$/);
});

test('tokens that the stack does not know are shown by their address, in the smallest unit', () => {
  const unknown = entryOf(amount(other, 7n), amount(usdt, 1_500_000n), 7n);
  expect(tellOrder(unknown, tokens)).toBe('7 of 0xcccccccc for 1.5 USDT, 0.214286 USDT each');
});

test('a change is shown with its order, even if the order is gone', () => {
  const change = { kind: 'entry', entry } as OrderChange;
  expect(tellChange(change, tokens)).toMatch(/^0x12345678 {2}ACTIVE +100 USDT for 0.04 WETH/);
  const gone = { kind: 'removed', orderHash: entry.orderHash, removal: 'CANCELLED', before: entry } as OrderChange;
  expect(tellChange(gone, tokens)).toMatch(/^0x12345678 .*CANCELLED +100 USDT for 0.04 WETH/);
});
