import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeMakerEvent } from '@makerbook/contracts-events';
import { paths } from '@makerbook/contracts-http';
import { until } from '@makerbook/parts';
import { byteaOf } from '@makerbook/postgres';
import type { Wallet } from 'ethers';
import { hashOf, lower, newWallet, type SignedOrder, signCancellation, signOrder } from './testing/sign-test-orders.js';
import { startTestIngress, type TestIngress } from './testing/start-test-ingress.js';

const OPEN_ORDERS_MAX = 2;
let ingress: TestIngress;
let maker: Wallet;

beforeAll(async () => {
  ingress = await startTestIngress({ MAX_OPEN_ORDERS_PER_MAKER: String(OPEN_ORDERS_MAX) });
});
afterAll(() => ingress.stop());
beforeEach(async () => {
  maker = newWallet();
  await ingress.showMaker(maker);
});

async function send(path: string, body: unknown) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(new URL(path, ingress.url), { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

async function place(wallet = maker): Promise<SignedOrder> {
  const order = await signOrder(wallet);
  expect((await send(paths.limitOrders, [order])).status).toBe(200);
  return order;
}

const goneBy = (order: SignedOrder, wallet = maker) => ({
  orderHash: hashOf(order),
  signature: signCancellation(wallet, hashOf(order), order.order.salt, 'uint256'),
});
const replace = (gone: readonly object[], orders: readonly SignedOrder[]) =>
  send(paths.replacements, { cancel: gone, place: orders });

/** The facts of a request, with their places in the log. */
function factsOf(requestId: string | null) {
  return ingress.facts.flatMap(({ partition, record }) => {
    const fact = decodeMakerEvent({ headers: { ...record.headers }, value: record.value });
    const isOf = 'cause' in fact && fact.cause.kind === 'request' && fact.cause.requestId === requestId;
    return isOf && 'orderHash' in fact ? [{ partition, offset: record.offset, fact }] : [];
  });
}

const marks = async () =>
  (await ingress.postgres.query('select from cancelling where maker = $1', [byteaOf(lower(maker))])).length;

/** As the projector does once all orders that were placed have come, and have ended. */
async function endAll(): Promise<void> {
  await ingress.postgres.query(`
    insert into hashes (order_hash, maker, partition, state, nonce, expires_at_seconds)
    select order_hash, maker, partition, 'ACCEPTED', 0, expires_at_seconds from in_flight where maker is not null`);
  for (const table of ['in_flight', 'cancelling']) await ingress.postgres.query(`delete from ${table}`);
}

describe('a replacement', () => {
  test('cancels and places in one piece, and the limit is judged by the result', async () => {
    const orders = [await place(), await place()] as const;
    const fresh = [await signOrder(maker), await signOrder(maker)];
    expect(await send(paths.limitOrders, fresh)).toMatchObject({ body: { code: 'too_many_orders' } });
    const answer = await replace([goneBy(orders[1]), goneBy(orders[0]), goneBy(orders[1])], fresh);
    expect(answer).toMatchObject({
      status: 200,
      body: {
        cancelled: [orders[1], orders[0], orders[1]].map((order) => ({
          orderHash: hashOf(order),
          status: 'CANCELLED',
        })),
        placed: fresh.map((order) => ({ orderHash: hashOf(order), status: 'VALIDATING' })),
      },
    });
    const requestId = answer.headers.get('x-request-id');
    await until('its facts are there', () => factsOf(requestId).length === 4);
    const facts = factsOf(requestId);
    const [first] = facts;
    expect(facts.map(({ partition, offset, fact }) => [partition, offset, fact.type, fact.orderHash])).toEqual(
      [orders[1], orders[0], ...fresh].map((order, n) => [
        first?.partition,
        (first?.offset ?? 0n) + BigInt(n),
        n < 2 ? 'OrderCancelled' : 'OrderSubmitted',
        hashOf(order),
      ]),
    );
    expect(answer.headers.get('x-log-position')).toBe(`${first?.partition}:${facts.at(-1)?.offset}`);
  });

  test('that is sent again says that it was stored', async () => {
    const body = [[goneBy(await place())], [await signOrder(maker)]] as const;
    expect(await replace(...body)).toMatchObject({ status: 200 });
    const early = await replace(...body);
    expect([early.status, early.headers.get('retry-after')]).toEqual([503, '2']);
    await endAll();
    const again = await replace(...body);
    expect(again).toMatchObject({
      status: 400,
      body: { code: 'duplicate', index: 0, errors: [{ pointer: '/place/0' }] },
    });
  });

  test('of an order that is not open, or of another maker, does nothing', async () => {
    const [order, fresh, other] = [await place(), await signOrder(maker), newWallet()];
    await ingress.showMaker(other);
    const others = await place(other);
    for (const gone of [await signOrder(maker), others]) {
      const refused = await replace([goneBy(order), goneBy(gone, gone === others ? other : maker)], [fresh]);
      expect(refused).toMatchObject({
        status: 404,
        body: { code: 'not_found', index: 1, errors: [{ pointer: '/cancel/1/orderHash' }] },
      });
    }
    expect(await marks()).toBe(0);
    expect(await replace([goneBy(order)], [fresh])).toMatchObject({ status: 200 });
  });

  test('whose new order is refused leaves the old one open', async () => {
    const [order, fresh] = [await place(), await signOrder(maker)];
    await place();
    const refused = await replace([goneBy(order)], [fresh, fresh]);
    expect(refused).toMatchObject({ status: 400, body: { code: 'duplicate', index: 1 } });
    expect(await marks()).toBe(0);
    const tooMany = [await signOrder(maker), await signOrder(maker)];
    expect(await replace([goneBy(order)], tooMany)).toMatchObject({
      body: { code: 'too_many_orders', index: 1, errors: [{ pointer: '/place/1' }] },
    });
    const mixed = [await signOrder(maker), await signOrder(newWallet())];
    expect(await replace([goneBy(order)], mixed)).toMatchObject({
      body: { code: 'invalid_request', errors: [{ pointer: '/place/1/order/maker' }] },
    });
    expect(await replace([goneBy(order, newWallet())], [await signOrder(maker)])).toMatchObject({
      status: 403,
      body: { code: 'invalid_signature', errors: [{ pointer: '/cancel/0/signature' }] },
    });
    expect(await replace([goneBy(order)], [await signOrder(maker, { expiresAt: '0x1' })])).toMatchObject({
      body: { code: 'order_expired', errors: [{ pointer: '/place/0/order/expiresAt' }] },
    });
    await ingress.showMaker(maker, { nonce: '0x1' });
    expect(await replace([goneBy(order)], [await signOrder(maker)])).toMatchObject({
      body: { code: 'order_cancelled', errors: [{ pointer: '/place/0/order/nonce' }] },
    });
    const anew = await signOrder(maker, { nonce: '0x1' });
    expect(await replace([goneBy(order)], [anew])).toMatchObject({ status: 200 });
  });

  test('happens once, however many replace the same order', async () => {
    const order = await place();
    const fresh = await Promise.all(Array.from({ length: 8 }, () => signOrder(maker)));
    const answers = await Promise.all(fresh.map((each) => replace([goneBy(order)], [each])));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status, headers } of answers.filter((each) => each.status !== 200)) {
      expect([503, 404]).toContain(status);
      if (status === 503) expect(headers.get('retry-after')).toBe('2');
    }
  });
});
