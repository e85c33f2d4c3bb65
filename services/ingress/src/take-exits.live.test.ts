import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeMakerEvent } from '@makerbook/contracts-events';
import {
  cancelAllRequestTypes,
  cancelKeysRequestTypes,
  heartbeatRequestTypes,
  type TypedField,
  typedDataDomain,
} from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import { type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { markOfCutoff } from '@makerbook/domain';
import type { Wallet } from 'ethers';
import {
  hashOf,
  newWallet,
  type SignedOrder,
  signCancellation,
  signOrder,
  tokenA,
  tokenB,
} from './testing/sign-test-orders.js';
import { startTestIngress, type TestIngress, testDomain, until } from './testing/start-test-ingress.js';

let ingress: TestIngress;
let maker: Wallet;
const key = newWallet();

beforeAll(async () => {
  ingress = await startTestIngress({ CANCEL_BUDGET_BURST: '500', CANCEL_BUDGET_PER_SECOND: '1' });
});
afterAll(() => ingress.stop());

const lower = (wallet: Wallet) => wallet.address.toLowerCase() as Hex;

/** A maker of its own for each test: the budget is spent soon. */
async function openMaker(): Promise<void> {
  maker = newWallet();
  await ingress.showMaker(maker, { cancelKeys: [lower(key)] });
}

async function send(path: string, body: unknown) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(new URL(path, ingress.url), { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

async function place(): Promise<SignedOrder> {
  const order = await signOrder(maker);
  expect((await send(paths.limitOrders, [order])).status).toBe(200);
  return order;
}

const sign = (wallet: Wallet, types: Record<string, TypedField[]>, message: object) =>
  wallet.signTypedData(typedDataDomain(testDomain), types, message);

async function cancelAll(more: { making?: string; taking?: string } = {}, untilMs = Date.now(), signer = maker) {
  const named = { maker: maker.address, ...more, untilMs };
  const message = { making: ZERO_ADDRESS, taking: ZERO_ADDRESS, ...named };
  return send(paths.cancelAll, { ...named, signature: await sign(signer, cancelAllRequestTypes, message) });
}

async function beat(cancelAt: number, issuedAtMs = Date.now(), signer = maker) {
  const message = { maker: maker.address, cancelAt, issuedAtMs };
  return send(paths.heartbeat, { ...message, signature: await sign(signer, heartbeatRequestTypes, message) });
}

async function nameKeys(keys: readonly string[], issuedAtMs = Date.now(), signer = maker) {
  const message = { maker: maker.address, keys, issuedAtMs };
  return send(paths.cancelKeys, { ...message, signature: await sign(signer, cancelKeysRequestTypes, message) });
}

/** So many facts of the maker, once they are there. */
async function factsOf(type: string, count = 1) {
  await until(`${count} of ${type}`, () => allOf(type).length >= count);
  return allOf(type);
}

const allOf = (type: string) =>
  ingress.facts.flatMap(({ record }) => {
    const fact = decodeMakerEvent({ headers: { ...record.headers }, value: record.value });
    return 'type' in fact && fact.type === type && 'maker' in fact && fact.maker === lower(maker) ? [fact] : [];
  });
const soon = () => Math.floor(Date.now() / 1000) + 30;
const refusal = (code: string, pointer?: string) => ({
  body: { code, ...(pointer && { errors: [expect.objectContaining({ pointer })] }) },
});

describe('cancelling all', () => {
  beforeAll(openMaker);

  test('is one fact, and marks the open orders of these tokens', async () => {
    const orders = [await place(), await place()];
    const count = async () => (await ingress.postgres.query('select from orders')).length;
    await until('the orders are folded', async () => (await count()) === orders.length);
    const untilMs = Date.now();
    const answer = await cancelAll({ making: tokenA.toUpperCase().replace('0X', '0x') }, untilMs);
    expect(answer).toMatchObject({ status: 200, body: { maker: lower(maker), making: tokenA, untilMs } });
    expect(answer.headers.get('x-log-position')).toMatch(/^\d+:\d+$/);
    expect(await factsOf('OrdersCancelled')).toEqual([
      {
        type: 'OrdersCancelled',
        maker: lower(maker),
        making: tokenA,
        untilMs,
        cause: { kind: 'request', requestId: answer.headers.get('x-request-id') },
      },
    ]);
    const marked = await ingress.postgres.query<{ order_hash: Hex }>('select order_hash from cancelling');
    const mark = markOfCutoff({ maker: lower(maker), making: tokenA, untilMs });
    expect(marked.map((row) => row.order_hash).sort()).toEqual([mark, ...orders.map(hashOf)].sort());
    const again = await cancelAll({ making: tokenA, taking: ZERO_ADDRESS }, untilMs);
    expect([again.status, again.body, again.headers.get('x-log-position')]).toEqual([200, answer.body, null]);
    expect(await factsOf('OrdersCancelled')).toHaveLength(1);
    expect(await cancelAll({ making: tokenB, taking: tokenA })).toMatchObject({ status: 200 });
  });

  test('is refused where the time is far ahead, or a field is none of its own', async () => {
    expect(await cancelAll({}, Date.now() + 120_000)).toMatchObject(refusal('invalid_request', '/untilMs'));
    const signature = `0x${'00'.repeat(65)}`;
    expect(await cancelAll({}, Date.now() - 600_000)).toMatchObject(refusal('invalid_request', '/untilMs'));
    const body = { maker: maker.address, untilMs: Date.now(), signature };
    expect(await send(paths.cancelAll, { ...body, token: tokenA })).toMatchObject(refusal('invalid_request'));
    expect(await send(paths.cancelAll, body)).toMatchObject(refusal('invalid_signature', '/signature'));
  });

  test('is charged like a hundred cancellations', async () => {
    await openMaker();
    for (let times = 0; times < 5; times += 1)
      expect(await cancelAll({}, Date.now() + times)).toMatchObject({ status: 200 });
    const refused = await cancelAll({}, Date.now() + 100);
    expect(refused).toMatchObject({ status: 429, ...refusal('rate_limited') });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
  });
});

describe("the dead-man's switch", () => {
  beforeAll(openMaker);

  test('is set and turned off by a fact', async () => {
    const [cancelAt, issuedAtMs] = [soon(), Date.now()];
    expect(await beat(cancelAt, issuedAtMs)).toMatchObject({ status: 200, body: { maker: lower(maker), cancelAt } });
    expect(await beat(0, issuedAtMs + 1)).toMatchObject({ status: 200 });
    expect(await factsOf('SwitchSet', 2)).toMatchObject([
      { cancelAt, issuedAtMs },
      { cancelAt: 0, issuedAtMs: issuedAtMs + 1 },
    ]);
  });

  test('is not set to a time that has passed, nor by a message of the future', async () => {
    expect(await beat(Math.floor(Date.now() / 1000))).toMatchObject(refusal('invalid_request', '/cancelAt'));
    expect(await beat(soon(), Date.now() + 120_000)).toMatchObject(refusal('invalid_request', '/issuedAtMs'));
  });
});

describe('a key that may cancel', () => {
  beforeAll(openMaker);

  test('cancels orders, cancels all and sends heartbeats', async () => {
    const order = await place();
    const { salt } = order.order;
    const orderHash = hashOf(order);
    const item = { orderHash, signature: signCancellation(key, orderHash, salt, 'uint256') };
    const cancelled = await send(paths.cancellations, [item]);
    expect(cancelled.body).toEqual([{ orderHash, status: 'CANCELLED' }]);
    expect(await factsOf('OrderCancelled')).toMatchObject([{ maker: lower(maker), orderHash }]);
    expect(await cancelAll({}, Date.now(), key)).toMatchObject({ status: 200 });
    expect(await beat(soon(), Date.now(), key)).toMatchObject({ status: 200 });
  });

  test('does nothing else, and nothing for another maker', async () => {
    expect(await nameKeys([], Date.now(), key)).toMatchObject(refusal('invalid_signature', '/signature'));
    const order = await signOrder(maker);
    const byKey = { ...order, signature: (await signOrder(key, order.order)).signature };
    expect(await send(paths.limitOrders, [byKey])).toMatchObject(refusal('invalid_signature'));
    expect(await cancelAll({}, Date.now(), newWallet())).toMatchObject(refusal('invalid_signature', '/signature'));
    await ingress.showMaker(maker);
    await until('the key is revoked', async () => (await beat(soon(), Date.now(), key)).status === 403);
  });

  test('is named by the maker', async () => {
    const issuedAtMs = Date.now();
    expect(await nameKeys([key.address], issuedAtMs)).toMatchObject({ status: 200, body: { keys: [lower(key)] } });
    expect(await factsOf('CancelKeysSet')).toMatchObject([{ keys: [lower(key)], issuedAtMs }]);
    expect(await nameKeys(Array(6).fill(key.address))).toMatchObject(refusal('invalid_request', '/keys'));
    expect(await nameKeys([], Date.now() + 120_000)).toMatchObject(refusal('invalid_request', '/issuedAtMs'));
  });
});

test('a maker who was never on the whitelist is refused', async () => {
  maker = newWallet();
  expect(await cancelAll()).toMatchObject(refusal('maker_not_whitelisted', '/maker'));
  expect(await beat(soon())).toMatchObject(refusal('maker_not_whitelisted', '/maker'));
});

test('a maker gets out while Postgres is away', async () => {
  await openMaker();
  await ingress.restart({ POSTGRES_TIMEOUT_MS: '200' });
  await ingress.gates.postgres.shut();
  try {
    expect(await cancelAll()).toMatchObject({ status: 200 });
    expect(await beat(soon(), Date.now(), key)).toMatchObject({ status: 200 });
  } finally {
    await ingress.gates.postgres.open();
  }
  expect(await factsOf('OrdersCancelled')).toHaveLength(1);
});
