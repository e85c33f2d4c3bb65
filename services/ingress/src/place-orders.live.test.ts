import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeMakerEvent } from '@makerbook/contracts-events';
import type { Hex } from '@makerbook/contracts-primitives';
import { partitionOf } from '@makerbook/kafka';
import { byteaOf } from '@makerbook/postgres';
import type { Wallet } from 'ethers';
import { hashOf, newWallet, type SignedOrder, signOrder, tokenA } from './testing/sign-test-orders.js';
import { startTestIngress, type TestIngress, until } from './testing/start-test-ingress.js';

let ingress: TestIngress;
let maker: Wallet;
let sibling: Wallet;
let stranger: Wallet;
let limited: Wallet;

beforeAll(async () => {
  ingress = await startTestIngress({
    MAX_ORDERS_PER_POST: '100',
    MAX_OPEN_ORDERS_PER_MAKER: '120',
    ORDER_BUDGET_PER_SECOND: '1000',
    ORDER_BUDGET_BURST: '1000',
  });
  maker = newWallet();
  stranger = newWallet();
  limited = newWallet();
  do sibling = newWallet();
  while (partitionOf(lower(sibling), 4) === partitionOf(lower(maker), 4));
  for (const wallet of [maker, sibling, limited]) await ingress.showMaker(wallet);
});
afterAll(() => ingress.stop());

const lower = (wallet: Wallet) => wallet.address.toLowerCase() as Hex;
const headers = { 'content-type': 'application/json' };
const post = (orders: unknown, more: Record<string, string> = {}) =>
  fetch(ingress.url, { method: 'POST', body: JSON.stringify(orders), headers: { ...headers, ...more } });

async function refused(response: Response): Promise<Record<string, unknown>> {
  const problem = (await response.json()) as Record<string, unknown>;
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  return problem;
}
async function accepted(orders: SignedOrder[]): Promise<unknown[]> {
  const response = await post(orders);
  const body = await response.text();
  expect(`${response.status} ${body.slice(0, 300)}`).toMatch(/^200 /);
  return JSON.parse(body) as unknown[];
}
const makerRow = (wallet: Wallet): [string, string[]] => [
  'select from makers where maker = $1',
  [byteaOf(lower(wallet))],
];
const storedOf = (hash: string) =>
  ingress.facts.filter(({ record }) => record.value?.toString().includes(`"orderHash":"${hash}"`));

describe('POST', () => {
  test('answers the records in request order, in normal form, after the log has them', async () => {
    const plain = await signOrder(maker);
    const salt = `0x000${plain.order.salt.slice(2, 20).toUpperCase()}`;
    const odd = await signOrder(maker, {
      salt,
      nonce: '0x00',
      making: { token: tokenA.toUpperCase().replace('0X', '0x'), amount: '0x0Ff' },
    });
    const shouted = {
      order: { ...odd.order, maker: maker.address },
      signature: `0x${odd.signature.slice(2).toUpperCase()}`,
    };
    const answer = await accepted([plain, shouted]);
    expect(answer).toEqual([
      { order: plain.order, orderHash: hashOf(plain), signature: plain.signature, status: 'VALIDATING' },
      {
        order: {
          ...odd.order,
          salt: `0x${BigInt(salt).toString(16)}`,
          nonce: '0x0',
          making: { token: tokenA, amount: '0xff' },
          maker: lower(maker),
        },
        orderHash: hashOf(odd),
        signature: odd.signature,
        status: 'VALIDATING',
      },
    ]);
    await until('the order is read from the log', () => storedOf(hashOf(odd)).length > 0);
    const [stored] = storedOf(hashOf(odd));
    expect(stored?.partition).toBe(partitionOf(lower(maker), 4));
    const { headers } = await post([await signOrder(maker)]);
    expect(headers.get('x-log-position')).toMatch(new RegExp(`^${stored?.partition}:\\d+$`));
    const fact = decodeMakerEvent({ headers: { ...stored?.record.headers }, value: stored?.record.value ?? null });
    expect(fact).toMatchObject({ type: 'OrderSubmitted', maker: lower(maker), orderHash: hashOf(odd) });
  });

  test('stores orders of several makers together, and none when one is bad', async () => {
    const good = [await signOrder(maker), await signOrder(sibling)];
    expect(await accepted(good)).toHaveLength(2);
    const fresh = await signOrder(maker);
    const problem = await refused(await post([fresh, await signOrder(sibling), good[1]]));
    expect(problem).toMatchObject({ status: 400, code: 'duplicate', index: 2 });
    expect(await accepted([fresh])).toHaveLength(1);
    for (const order of [...good, fresh]) await until('it is stored', () => storedOf(hashOf(order)).length > 0);
    // Time for another one.
    await new Promise((resolve) => setTimeout(resolve, 300));
    for (const order of [...good, fresh]) expect(storedOf(hashOf(order))).toHaveLength(1);
  });
});

describe('a POST is refused for', () => {
  const item = () => signOrder(maker);

  test('the lowest phase first, then the lowest index', async () => {
    const late = await signOrder(maker, { expiresAt: '0x1' });
    const unsigned = { ...(await item()), signature: `0x${'11'.repeat(64)}1b` };
    const taker = await signOrder(maker, { permittedTaker: maker.address });
    const foreign = await signOrder(stranger);
    const again = await item();
    await accepted([again]);
    const codeOf = async (orders: unknown[]) => {
      const { code, index } = await refused(await post(orders));
      return `${String(code)} ${String(index)}`;
    };
    expect(await codeOf([again, late, foreign, unsigned, taker, { order: 1 }])).toBe('invalid_request 5');
    expect(await codeOf([again, late, foreign, unsigned, taker])).toBe('unsupported_permitted_taker 4');
    expect(await codeOf([again, late, foreign, unsigned])).toBe('maker_not_whitelisted 2');
    expect(await codeOf([again, late, unsigned])).toBe('invalid_signature 2');
    expect(await codeOf([again, late])).toBe('order_expired 1');
    expect(await codeOf([again, again])).toBe('duplicate 0');
  });

  test('more hashes than are remembered of a maker, with the ways out', async () => {
    const old = newWallet();
    await ingress.showMaker(old);
    await accepted([await signOrder(old)]);
    await until('it is projected', async () => (await ingress.postgres.query(...makerRow(old))).length === 1);
    await ingress.postgres.query('update makers set remembered = 10000000 where maker = $1', makerRow(old)[1]);
    expect(await refused(await post([await signOrder(old)]))).toMatchObject({
      status: 400,
      code: 'too_many_orders',
      index: 0,
      detail: expect.stringMatching(/shorter expiries.*nonce/),
    });
  });
});

describe('Valid-Until', () => {
  const seconds = (fromNow: number) => String(Math.floor(Date.now() / 1000) + fromNow);

  test('is judged again when another request with the same order has been waited for', async () => {
    const order = await signOrder(maker);
    ingress.pauseProjection();
    try {
      await accepted([order]);
      const waiting = post([order], { 'valid-until': seconds(1) });
      waiting.catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 2_100));
      expect(await refused(await waiting)).toMatchObject({ code: 'valid_until_passed' });
    } finally {
      ingress.resumeProjection();
    }
    await until('it is stored', () => storedOf(hashOf(order)).length > 0);
    expect(storedOf(hashOf(order))).toHaveLength(1);
  });
});

describe('an operator’s decision', () => {
  const batch = (wallet: ReturnType<typeof newWallet>, size: number) =>
    Promise.all(Array.from({ length: size }, () => signOrder(wallet)));

  test('gives a maker limits of its own, which its headers show', async () => {
    const [few, slow] = [newWallet(), newWallet()];
    await ingress.showMaker(few, { limits: { openOrdersMax: 2, ordersPerSecond: 10 } });
    await ingress.showMaker(slow, { limits: { ordersBurst: 20 } });
    expect(await refused(await post(await batch(few, 3)))).toMatchObject({
      status: 400,
      code: 'too_many_orders',
      detail: expect.stringContaining('may have 2 open orders'),
      index: 2,
    });
    const response = await post(await batch(few, 2));
    expect(response.status).toBe(200);
    expect(response.headers.get('ratelimit-policy')).toMatch(/"orders"; q=1000; w=100; /);
    expect(await refused(await post(await batch(slow, 21)))).toMatchObject({
      status: 400,
      code: 'too_many_orders',
      detail: expect.stringContaining('holds 20 orders when full'),
      index: 20,
    });
    // Those of others are as the service has them.
    expect((await post(await batch(maker, 21))).headers.get('ratelimit-policy')).toMatch(/"orders"; q=1000; w=1; /);
  });
});
