import { describe, expect, test } from '@jest/globals';
import { Wallet } from 'ethers';
import { createClient } from './create-client.js';
import { type SignedOrder, verifyReceipt } from './index.js';
import { createRequestSigner } from './sign-requests.js';
import { answer, CONTRACT, fakeService } from './testing/fake-service.js';

const KEY = `0x${'1f'.repeat(32)}`;
const [SELL, BUY, HASH] = [`0x${'ab'.repeat(20)}`, `0x${'cd'.repeat(20)}`, `0x${'4e'.repeat(32)}`];
const options = { baseUrl: 'http://x', signer: KEY, chainId: 8217, serviceName: 'Test', limitOrderProtocol: CONTRACT };
const { fetch, asked } = fakeService(Date.now, ({ path }) => answer(path.endsWith('cancellations') ? [] : {}));
const client = createClient({ ...options, fetch });
const draft = { making: { token: SELL, amount: 1n }, taking: { token: BUY, amount: 1n }, expiresAt: 2_000_000_000 };
const signing = createRequestSigner(new Wallet(KEY), {
  serviceName: 'Test',
  chainId: 8217,
  verifyingContract: `0x${'12'.repeat(20)}`,
});
/** A value from a program without types. */
type Given = never;
const terms = { ...draft, salt: 1n, nonce: 0n, maker: SELL, permittedTaker: BUY };
const signed: SignedOrder = await client.signOrder({ ...draft, salt: 7n });

test.each([1_000_000n, '1000000', '0xf4240', '0x00F4240'])('the amount %s is signed by its value', async (amount) => {
  const values = { making: { token: SELL, amount }, salt: amount, nonce: amount };
  const { order } = await client.signOrder({ ...draft, ...values });
  expect([order.making.amount, order.salt, order.nonce]).toEqual(['0xf4240', '0xf4240', '0xf4240']);
  expect((await signing.signOrder({ ...terms, ...values })).order.making.amount).toBe('0xf4240');
});

const badAmounts = [1_000_000, 1.5, 2 ** 60, -1n, 2n ** 256n, '', '1.5', 'x', null];
const amountCalls: readonly [field: string, call: (value: Given) => Promise<unknown>][] = [
  ['making.amount', (amount) => client.signOrder({ ...draft, making: { token: SELL, amount } })],
  ['taking.amount', (amount) => client.signOrder({ ...draft, taking: { token: SELL, amount } })],
  ['nonce', (nonce) => client.signOrder({ ...draft, nonce })],
  ['salt', (salt) => client.signOrder({ ...draft, salt })],
  ['order.making.amount', (amount) => signing.signOrder({ ...terms, making: { token: SELL, amount } })],
  ['order.salt', (salt) => signing.signOrder({ ...terms, salt })],
  ['salt', (salt) => signing.signCancellation({ orderHash: HASH as `0x${string}`, salt })],
  ['orders[0].salt', (salt) => client.cancelOrders([{ orderHash: HASH, salt }])],
  [
    'gone[0].remainingMakingAmount',
    (remainingMakingAmount) => client.replaceOrders([{ ...signed, remainingMakingAmount }], [signed]),
  ],
  ['gone[0].salt', (salt) => client.replaceOrders([{ orderHash: HASH, salt }], [signed])],
  [
    'orders[1].order.taking.amount',
    (amount) =>
      client.placeOrders([signed, { ...signed, order: { ...signed.order, taking: { token: BUY, amount } } } as Given]),
  ],
  ['amount', (amount) => client.setFillCap({ token: SELL, amount, windowSeconds: 60 })],
  ['minOutput', (minOutput) => client.patchQuote({ data: '0x12', minOutput })],
];

describe.each(amountCalls)('%s', (field, call) => {
  test.each(badAmounts)('of %p is refused, and the error names the field', async (value) => {
    const sent = asked.length;
    await expect(call(value as Given)).rejects.toMatchObject({ name: 'WrongValue', field });
    expect(asked).toHaveLength(sent);
  });
});

test.each<[field: string, call: () => unknown]>([
  ['making', () => client.signOrder({ ...draft, making: undefined } as Given)],
  ['order', () => client.signOrder(undefined as Given)],
  ['making.token', () => client.signOrder({ ...draft, making: { token: '0x12', amount: 1n } })],
  ['taking.token', () => client.signOrder({ ...draft, taking: { token: `0x${'00'.repeat(20)}`, amount: 1n } })],
  ['expiresAt', () => client.signOrder({ ...draft, expiresAt: 1_700_000_000_000 })],
  ['expiresAt', () => client.signOrder({ ...draft, expiresAt: 3_600 })],
  ['expiresAt', () => client.signOrder({ ...draft, expiresAt: 1.5 })],
  ['orders', () => client.placeOrders(signed as Given)],
  ['orders[0].order', () => client.placeOrders([draft] as Given)],
  ['orders[0].signature', () => client.placeOrders([{ order: signed.order } as Given])],
  ['validUntilMs', () => client.placeOrders([signed], { validUntilMs: 1_700_000_000 })],
  ['orders', () => client.cancelOrders(signed as Given)],
  ['orders[0].orderHash', () => client.cancelOrders([{ orderHash: '0x12', salt: 1n }])],
  ['orders[0]', () => client.cancelOrders([HASH] as Given)],
  ['orders[0].salt', () => client.cancelOrders([{ orderHash: HASH } as Given])],
  ['orders[0].expiresAt', () => client.cancelOrders([{ orderHash: HASH, salt: 1n, expiresAt: -1 }])],
  ['waitSeconds', () => client.cancelOrdersAndWait([signed], 2_000)],
  ['orders', () => client.replaceOrders([signed], signed as Given)],
  ['making', () => client.cancelAll({ making: `0x${'00'.repeat(20)}` })],
  ['untilMs', () => client.cancelAll({ untilMs: 1_700_000_000 })],
  ['cancelAt', () => client.sendHeartbeat(1_700_000_000_000)],
  ['cancelAt', () => client.sendHeartbeat(30)],
  ['cancelAt', () => client.sendHeartbeat(-1)],
  ['keys', () => client.nameCancelKeys(BUY as Given)],
  ['keys[1]', () => client.nameCancelKeys([BUY, '0x12'])],
  ['token', () => client.setFillCap({ token: `0x${'00'.repeat(20)}`, amount: 1n, windowSeconds: 60 })],
  ['windowSeconds', () => client.setFillCap({ token: SELL, amount: 1n, windowSeconds: 60_000_000 })],
  ['windowSeconds', () => client.setFillCap({ token: SELL, amount: 1n, windowSeconds: 0.5 })],
  ['orderHash', () => client.findOrder('0x12')],
  ['fromMs', () => client.readHistory({ fromMs: 1_700_000_000 })],
  ['data', () => client.patchQuote({ data: 'x', minOutput: 1n })],
])('a wrong %s is refused, and the error names it: %#', async (field, call) => {
  const sent = asked.length;
  await expect((async () => call())()).rejects.toMatchObject({ name: 'WrongValue', field });
  expect(asked).toHaveLength(sent);
});

test('an order is cancelled as signed, by record, or by hash and salt, with its expiry if that is known', async () => {
  const record = { ...signed, status: 'ACTIVE' as const };
  const named = { orderHash: HASH, salt: '7' };
  await client.cancelOrders([signed, record, named, { ...named, expiresAt: 2_000_000_000 }]);
  const { expiresAt } = signed.order;
  const signature = expect.any(String);
  expect(asked.at(-1)?.body).toEqual([
    { orderHash: signed.orderHash, salt: '0x7', expiresAt, signature },
    { orderHash: signed.orderHash, salt: '0x7', expiresAt, signature },
    { orderHash: HASH, salt: '0x7', signature },
    { orderHash: HASH, salt: '0x7', expiresAt: '0x77359400', signature },
  ]);
});

test('a replacement by record states what is left of the order, and a cancellation does not', async () => {
  const record = { ...signed, status: 'ACTIVE' as const, remainingMakingAmount: '7' };
  await client.replaceOrders([record, signed], [signed]);
  const { cancel } = (asked.at(-1)?.body ?? {}) as { cancel?: object[] };
  expect(cancel).toMatchObject([{ orderHash: signed.orderHash, remainingMakingAmount: '0x7' }, { salt: '0x7' }]);
  expect(cancel?.[1]).not.toHaveProperty('remainingMakingAmount');
  expect(cancel?.[0]).not.toHaveProperty('expiresAt');
  await client.cancelOrders([record]);
  expect(asked.at(-1)?.body[0]).not.toHaveProperty('remainingMakingAmount');
});

test('a signed order is posted with the same values, in whatever form it was kept', async () => {
  const { order } = signed;
  const kept = { ...order, salt: '7', making: { token: SELL.toUpperCase().replace('0X', '0x'), amount: '0x01' } };
  await client.placeOrders([{ ...signed, order: kept } as Given]).catch(() => undefined);
  expect(asked.at(-1)?.body).toEqual([{ order, signature: signed.signature }]);
});

describe('an option of the client', () => {
  test.each<[string, object]>([
    ['baseUrl', { baseUrl: '127.0.0.1:8080' }],
    ['baseUrl', { baseUrl: 'http://me:secret@x' }],
    ['signer', { signer: undefined }],
    ['signer', { signer: {} }],
    ['signer', { signer: `${KEY}\n` }],
    ['signer', { signer: KEY.slice(0, -1) }],
    ['signer', { signer: `${KEY},` }],
    ['chainId', { chainId: undefined }],
    ['chainId', { chainId: 1.5 }],
    ['serviceName', { serviceName: undefined }],
    ['limitOrderProtocol', { limitOrderProtocol: KEY }],
    ['maker', { maker: KEY }],
    ['timeoutMs', { timeoutMs: 0 }],
  ])('%s is refused by name if it is wrong, and not shown: %#', (field, wrong) => {
    let error: unknown;
    try {
      createClient({ ...options, ...wrong });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ name: 'WrongValue', field });
    expect(String((error as Error).stack)).not.toMatch(/1f1f1f|secret/);
  });

  test('that is a number may be given as text', async () => {
    const { orderHash } = await createClient({ ...options, chainId: '8217' }).signOrder({ ...draft, salt: 7n });
    expect(orderHash).toBe(signed.orderHash);
  });
});

test('verifying a receipt refuses a wrong domain or wrong keys', () => {
  const receipt = { placed: [], cancelled: [], messages: [], position: '0:1', signature: '0x12' } as const;
  expect(verifyReceipt(receipt, options, [BUY])).toBe(false);
  expect(() => verifyReceipt(receipt, { ...options, limitOrderProtocol: '0x12' }, [BUY])).toThrow('limitOrderProtocol');
  expect(() => verifyReceipt(receipt, options, ['0x12'])).toThrow('signers[0] must be');
  expect(() => verifyReceipt(receipt, options, BUY as Given)).toThrow('signers must be an array');
});
