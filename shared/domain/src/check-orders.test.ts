import { describe, expect, test } from '@jest/globals';
import { type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { checkAdmission, checkTerms, checkTimeliness } from './check-orders.js';
import { bookEntryOf, makerViewOf } from './describe.js';
import { type Admission, unknownMaker } from './maker.js';
import type { OpenOrder } from './open-order.js';
import { type Order, orderToBody } from './order.js';

const maker: Hex = `0x${'a1'.repeat(20)}`;
const usd: Hex = `0x${'b2'.repeat(20)}`;
const eur: Hex = `0x${'c3'.repeat(20)}`;
const good: Order = {
  salt: 31n,
  nonce: 5n,
  expiresAt: 1000n,
  making: { token: usd, amount: 100n },
  taking: { token: eur, amount: 1n },
  maker,
  permittedTaker: ZERO_ADDRESS,
};

describe('placing orders', () => {
  test.each<[string, Partial<Order>, string]>([
    ['nothing to sell', { making: { token: usd, amount: 0n } }, '/order/making/amount'],
    ['nothing to buy', { taking: { token: eur, amount: 0n } }, '/order/taking/amount'],
    ['the native coin to buy', { taking: { token: ZERO_ADDRESS, amount: 1n } }, '/order/taking/token'],
    ['its other address', { taking: { token: `0x${'e'.repeat(40)}`, amount: 1n } }, '/order/taking/token'],
  ])('%s is refused, and the refusal names item and field', (_name, change, pointer) => {
    expect(checkTerms([good, { ...good, ...change }])).toMatchObject({ code: 'invalid_request', index: 1, pointer });
    expect(checkTerms([good])).toBeUndefined();
  });

  test.each<[Admission, boolean]>([
    ['ADMITTED', true],
    ['SUSPENDED', false],
    ['REMOVED', false],
    ['UNKNOWN', false],
  ])('a maker who is %s may place orders: %s', (admission, may) => {
    const refusal = checkAdmission([good], () => admission);
    expect(refusal?.code).toBe(may ? undefined : 'maker_not_whitelisted');
  });

  test('an order below the known nonce is cancelled, and one at or above it is not', () => {
    expect(checkTimeliness([good], 0, () => 6n)).toMatchObject({ code: 'order_cancelled', pointer: '/order/nonce' });
    expect(checkTimeliness([good], 0, () => 5n)).toBeUndefined();
    expect(checkTimeliness([good], 0, () => 4n)).toBeUndefined();
  });
});

describe('describing an order', () => {
  test('a book entry says what remains, until when, and with which funds', () => {
    expect(bookEntryOf(open, funding, causes, position, { routingGraceSeconds: 60 })).toEqual({
      type: 'BookEntry',
      orderHash: open.orderHash,
      order: orderToBody(good),
      signature: open.signature,
      status: 'INACTIVE',
      reason: 'INSUFFICIENT_BALANCE',
      remainingMakingAmount: '0x28',
      routableUntil: 940,
      acceptedAtMs: 1,
      funding: { balance: '0x7', allowance: '0x8', block: 3 },
      causes,
      position,
    });
  });

  const open: OpenOrder = {
    orderHash: `0x${'11'.repeat(32)}`,
    order: good,
    signature: `0x${'22'.repeat(65)}`,
    byWallet: false,
    acceptedAtMs: 1,
    acceptedOffset: 9n,
    remaining: 40n,
    isObserved: true,
    state: { status: 'INACTIVE', reason: 'INSUFFICIENT_BALANCE' },
    inBook: true,
    cappedUntil: 0,
  };
  const position = { partition: 1, offset: '9' };
  const funding = { known: { balance: 7n, allowance: 8n, block: 3 }, openOrders: 1 };
  const causes = ['BALANCE_CHANGED' as const];

  test('an ACTIVE entry without known funds is a bug, and throws', () => {
    const unknown = { known: undefined, openOrders: 1 };
    const active: OpenOrder = { ...open, state: { status: 'ACTIVE' } };
    expect(() => bookEntryOf(active, unknown, [], position, { routingGraceSeconds: 60 })).toThrow(
      /without known funds/,
    );
  });

  test('a maker view has the nonce, null until it is read, and the limits that the maker has', () => {
    expect(makerViewOf({ ...unknownMaker(maker), admission: 'ADMITTED' }, position)).toEqual({
      type: 'MakerView',
      maker,
      admission: 'ADMITTED',
      nonce: null,
      position,
    });
    const nonce = { value: 10n, block: 1 };
    expect(makerViewOf({ ...unknownMaker(maker), nonce }, position).nonce).toBe('0xa');
    const limits = { openOrdersMax: 5 };
    expect(makerViewOf({ ...unknownMaker(maker), limits }, position).limits).toEqual(limits);
  });
});
