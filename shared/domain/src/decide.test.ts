import { describe, expect, test } from '@jest/globals';
import { type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { checkAdmission, checkRepeats, checkTerms, checkTimeliness, placeOrders } from './decide.js';
import { bookEntryOf, makerViewOf, recordEnd, recordStart } from './describe.js';
import { type Admission, type OpenOrder, unknownMaker } from './maker.js';
import { type Order, orderFromBody, orderToBody } from './order.js';

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
  test.each<[string, Partial<Order>, string, string]>([
    ['a permitted taker', { permittedTaker: maker }, 'unsupported_permitted_taker', '/order/permittedTaker'],
    ['nothing to sell', { making: { token: usd, amount: 0n } }, 'invalid_request', '/order/making/amount'],
    ['nothing to buy', { taking: { token: eur, amount: 0n } }, 'invalid_request', '/order/taking/amount'],
    ['the same token twice', { taking: { token: usd, amount: 1n } }, 'invalid_request', '/order/taking/token'],
  ])('%s is refused, and names item and field', (_name, change, code, pointer) => {
    expect(checkTerms([good, { ...good, ...change }])).toMatchObject({ code, index: 1, pointer });
    expect(checkTerms([good])).toBeUndefined();
  });

  test.each<[Admission, boolean]>([
    ['ADMITTED', true],
    ['SUSPENDED', false],
    ['REMOVED', false],
    ['UNKNOWN', false],
  ])('a maker who is %s may: %s', (admission, may) => {
    const refusal = checkAdmission([good], () => admission);
    expect(refusal?.code).toBe(may ? undefined : 'maker_not_whitelisted');
  });

  test('an order must expire after now', () => {
    expect(checkTimeliness([good], 999, () => undefined)).toBeUndefined();
    expect(checkTimeliness([good], 1000, () => undefined)).toMatchObject({ code: 'order_expired', index: 0 });
  });

  test('a nonce below the known one is cancelled; one that is equal or ahead is not', () => {
    expect(checkTimeliness([good], 0, () => 6n)).toMatchObject({ code: 'order_cancelled', pointer: '/order/nonce' });
    expect(checkTimeliness([good], 0, () => 5n)).toBeUndefined();
    expect(checkTimeliness([good], 0, () => 4n)).toBeUndefined();
  });

  test('the lowest item that fails answers', () => {
    const [passed, expired] = [
      { ...good, nonce: 0n },
      { ...good, expiresAt: 0n },
    ];
    expect(checkTimeliness([passed, expired], 5, () => 1n)).toMatchObject({ code: 'order_cancelled', index: 0 });
  });

  test('the same hash twice is a duplicate at its second place', () => {
    const [a, b]: [Hex, Hex] = ['0xa', '0xb'];
    expect(checkRepeats([a, b, a])).toMatchObject({ code: 'duplicate', index: 2 });
    expect(checkRepeats([a, b])).toBeUndefined();
  });

  test('only the fact of an order that a contract accepted says so', () => {
    const order = { order: good, orderHash: '0xab', signature: '0xcd' } as const;
    const cause = { kind: 'request', requestId: 'r' } as const;
    const facts = placeOrders(
      [
        { ...order, byWallet: true },
        { ...order, byWallet: false },
      ],
      7,
      cause,
    );
    expect(facts.map(({ byWallet }) => byWallet)).toEqual([true, undefined]);
  });

  test('accepted orders become facts in the normal form', () => {
    const cause = { kind: 'request', requestId: 'r' } as const;
    const [fact] = placeOrders([{ order: good, orderHash: '0xab', signature: '0xcd', byWallet: false }], 7, cause);
    expect(fact).toMatchObject({
      type: 'OrderSubmitted',
      maker,
      acceptedAtMs: 7,
      order: { salt: '0x1f', expiresAt: '0x3e8' },
    });
    expect(orderFromBody(orderToBody(good))).toEqual(good);
  });
});

describe('describing an order', () => {
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

  test('a listed record has order, hash, signature, status and the reason of an INACTIVE one', () => {
    const record = JSON.parse(recordStart(open) + recordEnd(open.state)) as object;
    expect(Object.keys(record)).toEqual(['order', 'orderHash', 'signature', 'status', 'reason']);
    expect(record).toMatchObject({ order: orderToBody(good), status: 'INACTIVE', reason: 'INSUFFICIENT_BALANCE' });
    expect(JSON.parse(recordStart(open) + recordEnd({ status: 'ACTIVE' }))).not.toHaveProperty('reason');
  });

  test('a listed record says what remains of an order that is filled in part', () => {
    const record = JSON.parse(recordStart(open) + recordEnd(open.state, open.remaining)) as object;
    expect(Object.keys(record).at(-1)).toBe('remainingMakingAmount');
    expect(record).toMatchObject({ status: 'INACTIVE', remainingMakingAmount: '0x28' });
  });

  test('a book entry says what remains, until when, and by which funds', () => {
    expect(bookEntryOf(open, funding, causes, position, { routingGraceSeconds: 60 })).toMatchObject({
      status: 'INACTIVE',
      reason: 'INSUFFICIENT_BALANCE',
      remainingMakingAmount: '0x28',
      routableUntil: 940,
      funding: { balance: '0x7', allowance: '0x8', block: 3 },
      causes,
      position,
    });
  });

  test('an ACTIVE entry without known funds is a bug, and throws', () => {
    const unknown = { known: undefined, openOrders: 1 };
    const active: OpenOrder = { ...open, state: { status: 'ACTIVE' } };
    expect(() => bookEntryOf(active, unknown, [], position, { routingGraceSeconds: 60 })).toThrow(
      /without known funds/,
    );
  });

  test('a maker view has the nonce, null until it was read, and limits where the maker has some', () => {
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
