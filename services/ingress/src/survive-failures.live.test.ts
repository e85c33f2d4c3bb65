import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { orderFromBody, placeOrders } from '@makerbook/domain';
import { partitionOf } from '@makerbook/kafka';
import { loadUntilRefused } from '@makerbook/parts';
import { openPlacementStore } from '@makerbook/postgres';
import type { Wallet } from 'ethers';
import { recordsOf } from './append-facts.js';
import { hashOf, newWallet, type SignedOrder, signOrder } from './testing/sign-test-orders.js';
import { startTestIngress, type TestIngress, until } from './testing/start-test-ingress.js';

const send = (ingress: TestIngress, orders: SignedOrder[]) =>
  fetch(ingress.url, {
    method: 'POST',
    body: JSON.stringify(orders),
    headers: { 'content-type': 'application/json' },
  });
async function answerOf(ingress: TestIngress, orders: SignedOrder[]): Promise<string> {
  const response = await send(ingress, orders);
  const body = (await response.json()) as { code?: string };
  return `${response.status} ${body.code ?? 'ok'}`;
}
const submissionsOf = (ingress: TestIngress, order: SignedOrder) => {
  // Hashing an order takes a millisecond of the loop that ingress and projector run in too.
  const sought = `"orderHash":"${hashOf(order)}"`;
  return ingress.facts.filter(({ record }) => record.value?.toString().includes(sought));
};
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
async function isStoredOnce(ingress: TestIngress, ...orders: SignedOrder[]): Promise<void> {
  for (const order of orders) await until('it is in the log', () => submissionsOf(ingress, order).length > 0);
  // Time for another one.
  await sleep(300);
  for (const order of orders) expect(submissionsOf(ingress, order)).toHaveLength(1);
}

describe('a process that is killed', () => {
  let ingress: TestIngress;
  let maker: Wallet;
  beforeAll(async () => {
    ingress = await startTestIngress();
    maker = newWallet();
    await ingress.showMaker(maker);
    expect(await answerOf(ingress, [await signOrder(maker)])).toBe('200 ok');
  });
  afterAll(() => ingress.stop());

  test('or stops under load: each request is answered or refused at its connection, and what was answered is stored', async () => {
    const orders = await Promise.all(Array.from({ length: 250 }, () => signOrder(maker)));
    const { url } = ingress;
    let sent = 0;
    const load = loadUntilRefused(16, () => {
      const order = orders[sent];
      sent += 1;
      return order && { method: 'POST', url, body: JSON.stringify([order]), order };
    });
    await until('the load is under way', () => sent > 50);
    const restarted = ingress.restart();
    const { answered, dropped } = await load;
    await restarted;
    expect(dropped).toEqual([]);
    expect(new Set(answered.map(({ status }) => status))).toEqual(new Set([200]));
    expect(answered.length).toBeLessThan(orders.length);
    await isStoredOnce(ingress, ...answered.map((answer) => answer.sent.order));
  });

  /** Places an order in Postgres and does nothing else: all that a process has done of a POST when it dies. */
  const placeAndDie = async (signed: SignedOrder, settledMs: number) => {
    const address = maker.address.toLowerCase() as Hex;
    const { salt, nonce, expiresAt } = signed.order;
    const terms = { salt: salt as Hex, nonce: BigInt(nonce), expiresAtSeconds: Number(expiresAt) };
    const budget = { ratePerSecond: 100, burst: 1000 };
    const outcome = await openPlacementStore(ingress.postgres).place({
      nowMs: Date.now(),
      receivedAtMs: Date.now(),
      lastsMs: settledMs,
      makers: [{ maker: address, partition: partitionOf(address, ingress.partitions), budget, openOrdersMax: 1000 }],
      orders: [{ makerIndex: 0, orderHash: hashOf(signed), ...terms }],
      rememberedMax: 10_000_000,
      chargeOnly: false,
      firstRepeatAt: undefined,
    });
    expect(outcome.kind).toBe('placed');
  };

  test('between placing and appending: a retry is told to wait, then succeeds, and the order is in the log once', async () => {
    await ingress.restart({ PLACE_WAIT_MS: '0' });
    const order = await signOrder(maker);
    await placeAndDie(order, 2_000);
    const response = await send(ingress, [order]);
    expect(response.headers.get('retry-after')).toBe('2');
    expect(await response.json()).toMatchObject({ status: 503, code: 'unavailable', index: 0, retryable: true });
    await ingress.restart();
    expect(await answerOf(ingress, [order])).toBe('200 ok');
    await isStoredOnce(ingress, order);
  });

  test('between appending and answering: a retry answers duplicate, and the order is in the log once', async () => {
    const order = await signOrder(maker);
    await placeAndDie(order, 60_000);
    const appender = ingress.log.createAppender({ timeoutMs: 60_000 });
    const body = order.order as Parameters<typeof orderFromBody>[0];
    const proven = { order: orderFromBody(body), orderHash: hashOf(order), signature: order.signature as Hex };
    const to = { topic: ingress.makerEventsTopic, partitions: ingress.partitions };
    const facts = placeOrders([proven], Date.now(), { kind: 'request', requestId: 'dead' });
    await appender.append(recordsOf(to, facts, Date.now()));
    expect(await answerOf(ingress, [order])).toBe('400 duplicate');
    await isStoredOnce(ingress, order);
  });

  test('does not hold other orders of the maker up', async () => {
    await placeAndDie(await signOrder(maker), 60_000);
    expect(await answerOf(ingress, [await signOrder(maker)])).toBe('200 ok');
  });

  test('leaves what was stored a duplicate when Postgres has lost what was in flight', async () => {
    await ingress.restart({ POSTGRES_TIMEOUT_MS: '1000', APPEND_TIMEOUT_MS: '2000' });
    const orders = await Promise.all(Array.from({ length: 20 }, () => signOrder(maker)));
    ingress.pauseProjection();
    const answers = orders.map((order) => answerOf(ingress, [order]));
    await sleep(5);
    // A crash leaves these tables empty.
    for (const table of ['trust', 'in_flight', 'cancelling', 'budgets']) {
      await ingress.postgres.query(`delete from ${table}`);
    }
    const first = await Promise.all(answers);
    expect(first.filter((answer) => !['200 ok', '503 unavailable'].includes(answer))).toEqual([]);
    for (const order of orders) expect(await answerOf(ingress, [order])).toBe('503 unavailable');
    ingress.resumeProjection();
    for (const [index, order] of orders.entries()) {
      let answer = '';
      await until('it is decided', async () => {
        answer = await answerOf(ingress, [order]);
        return answer !== '503 unavailable';
      });
      expect(answer).toBe(first[index] === '200 ok' ? '400 duplicate' : '200 ok');
    }
    await isStoredOnce(ingress, ...orders);
    await ingress.restart();
  });

  test('POST answers 503 while the read model is too far behind the log, and 200 when it has caught up', async () => {
    await ingress.restart({ PROJECTION_LAG_SECONDS_MAX: '1' });
    ingress.pauseProjection();
    await until(
      'it answers 503',
      async () => (await answerOf(ingress, [await signOrder(maker)])) === '503 unavailable',
    );
    ingress.resumeProjection();
    await until('it answers 200', async () => (await answerOf(ingress, [await signOrder(maker)])) === '200 ok');
    await ingress.restart();
  });
});
