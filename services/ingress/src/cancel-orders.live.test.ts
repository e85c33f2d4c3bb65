import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Hex } from '@makerbook/contracts-primitives';
import { partitionOf } from '@makerbook/kafka';
import { projectedPositions } from '@makerbook/postgres';
import type { Wallet } from 'ethers';
import { hashOf, newWallet, type SignedOrder, signCancellation, signOrder } from './testing/sign-test-orders.js';
import { startTestIngress, type TestIngress, until } from './testing/start-test-ingress.js';

let ingress: TestIngress;
let maker: Wallet;
let sibling: Wallet;

beforeAll(async () => {
  ingress = await startTestIngress();
  maker = newWallet();
  do sibling = newWallet();
  while (partitionOf(lower(sibling), 4) === partitionOf(lower(maker), 4));
  for (const wallet of [maker, sibling]) await ingress.showMaker(wallet);
});
afterAll(() => ingress.stop());

const lower = (wallet: Wallet) => wallet.address.toLowerCase() as Hex;
const unknownHash = `0x${'ab'.repeat(32)}`;

async function place(wallet: Wallet, count = 1): Promise<SignedOrder[]> {
  const orders = await Promise.all(Array.from({ length: count }, () => signOrder(wallet)));
  const response = await fetch(ingress.url, {
    method: 'POST',
    body: JSON.stringify(orders),
    headers: { 'content-type': 'application/json' },
  });
  expect(`${response.status} ${(await response.text()).slice(0, 200)}`).toMatch(/^200/);
  return orders;
}
async function placeOne(wallet: Wallet = maker): Promise<SignedOrder> {
  const [order] = await place(wallet);
  if (order === undefined) throw new Error('no order was placed');
  return order;
}

const cancelling = (
  wallet: Wallet,
  order: SignedOrder,
  saltType: 'uint256' | 'bytes32' = 'uint256',
  salt = order.order.salt,
) => ({
  hash: hashOf(order) as string,
  signature: signCancellation(wallet, hashOf(order), salt, saltType),
});
const remove = (items: { hash: string; signature: string }[], more = '', headers: Record<string, string> = {}) =>
  fetch(
    `${ingress.url}?orderHashes=${items.map(({ hash }) => hash).join(',')}&signatures=${items.map(({ signature }) => signature).join(',')}${more}`,
    { method: 'DELETE', headers },
  );
async function cancelled(items: { hash: string; signature: string }[], more = ''): Promise<string[]> {
  const response = await remove(items, more);
  const text = await response.text();
  expect(`${response.status} ${text}`).toMatch(/^200 /);
  const body = JSON.parse(text) as { orderHash: string; status: string }[];
  expect(body.map(({ orderHash }) => orderHash)).toEqual(items.map(({ hash }) => hash.toLowerCase()));
  for (const item of body) expect(Object.keys(item)).toEqual(['orderHash', 'status']);
  return body.map(({ status }) => status);
}
async function refused(response: Response): Promise<Record<string, unknown>> {
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  return (await response.json()) as Record<string, unknown>;
}
const cancellationsOf = (hash: string) =>
  ingress.facts.filter(
    ({ record }) =>
      record.headers['ce_type'] === 'makerbook.OrderCancelled.v1' && record.value?.toString().includes(hash),
  );
/** Time for what should not happen. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 400));
/** A repetition that comes while the cancellation is on its way to the rows cancels again, which is harmless. */
const isGone = (item: { hash: string; signature: string }) =>
  until('the order is gone', async () => (await cancelled([item]))[0] === 'NOT_FOUND');
const isCancelledOnce = async (hash: string) => {
  await until('the cancellation is in the log', () => cancellationsOf(hash).length > 0);
  await settle();
  expect(cancellationsOf(hash)).toHaveLength(1);
};

describe('DELETE', () => {
  test('answers for each hash: unknown ones do not fail the rest, a repeated one is cancelled once', async () => {
    const order = await placeOne();
    const other = await placeOne(sibling);
    const item = cancelling(maker, order);
    const unknown = { hash: unknownHash, signature: item.signature };
    expect(await cancelled([unknown, item, item, cancelling(sibling, other)])).toEqual([
      'NOT_FOUND',
      'CANCELLED',
      'CANCELLED',
      'CANCELLED',
    ]);
    await isCancelledOnce(hashOf(order));
    await isCancelledOnce(hashOf(other));
  });

  test('says where in the log it is, and waits for the feed where it is asked to', async () => {
    const [mine, late, other] = [await placeOne(), await placeOne(), await placeOne(sibling)];
    const ask = async (wait: string, ...items: Parameters<typeof remove>[0]) => {
      const { status, headers } = await remove(items, '', { Prefer: wait });
      return [status, headers.get('x-log-position'), headers.get('preference-applied')];
    };
    const placeOf = async ({ orderHash }: { orderHash: string }) => {
      await until('the cancellation is in the log', () => cancellationsOf(orderHash).length > 0);
      const [{ partition, record }] = cancellationsOf(orderHash) as [(typeof ingress.facts)[number]];
      return { partition, offset: record.offset, text: `${partition}:${record.offset}` };
    };
    const both = await ask('wait=60', cancelling(maker, mine), cancelling(sibling, other));
    const [first, second] = [await placeOf({ orderHash: hashOf(mine) }), await placeOf({ orderHash: hashOf(other) })];
    expect(both).toEqual([200, `${first.text}, ${second.text}`, 'wait=20']);
    const positions = await projectedPositions(ingress.postgres);
    for (const { partition, offset } of [first, second]) expect(positions.get(partition)).toBeGreaterThan(offset);

    ingress.pauseProjection();
    const alone = await ask('wait=1', cancelling(maker, late)).finally(() => ingress.resumeProjection());
    expect(alone).toEqual([200, (await placeOf({ orderHash: hashOf(late) })).text, null]);
    // Nothing is cancelled, and nothing is waited for.
    await isGone(cancelling(maker, mine));
    expect(await ask('wait=20', cancelling(maker, mine))).toEqual([200, null, null]);
  });
});

describe('POST …/cancellations', () => {
  const post = (body: unknown, query = '') =>
    fetch(`${ingress.url}/cancellations${query}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
  const itemOf = ({ hash, signature }: { hash: string; signature: string }) => ({ orderHash: hash, signature });

  test('takes the salt of each item from the item, before that of the query', async () => {
    const [own, other] = [await placeOne(), await placeOne()];
    const items = [
      { ...itemOf(cancelling(maker, own)), salt: own.order.salt },
      itemOf(cancelling(maker, other, 'uint256', '0xabc')),
    ];
    expect(await (await post(items, '?salt=0xabc')).json()).toMatchObject([
      { status: 'CANCELLED' },
      { status: 'CANCELLED' },
    ]);
  });

  test('is counted with DELETE, for the maker and for the client address', async () => {
    const left = (response: Response, name: string) =>
      Number(new RegExp(`"${name}"; r=(\\d+)`).exec(response.headers.get('ratelimit') ?? '')?.[1]);
    const first = await remove([cancelling(maker, await placeOne())]);
    const second = await post([itemOf(cancelling(maker, await placeOne()))]);
    expect(left(second, 'client-cancels')).toBe(left(first, 'client-cancels') - 1);
    expect(left(second, 'cancels')).toBeGreaterThan(0);
    for (const { headers } of [first, second]) {
      const names = [...(headers.get('ratelimit-policy') ?? '').matchAll(/"([\w-]+)"/g)].map(([, name]) => name);
      expect(names).toEqual(['client-cancels', 'cancels']);
    }
  });
});

describe('while Postgres is away', () => {
  const post = (body: unknown) =>
    fetch(ingress.url, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });

  test('what is sent with its salt is cancelled, of whatever hash; all else is 503', async () => {
    await ingress.restart({ POSTGRES_TIMEOUT_MS: '2000' });
    const [order, second, never] = [await placeOne(), await placeOne(), await signOrder(maker)];
    await ingress.gates.postgres.shut();
    try {
      expect(await refused(await post([await signOrder(maker)]))).toMatchObject({
        status: 503,
        code: 'unavailable',
        retryable: true,
      });
      const ready = await (await fetch(`${ingress.opsUrl}/readyz`)).json();
      expect(ready).toMatchObject({ status: 'ok', checks: { postgres: expect.stringMatching(/away/) } });
      expect(await cancelled([cancelling(maker, order)], `&salt=${order.order.salt}`)).toEqual(['CANCELLED']);
      expect(await cancelled([cancelling(maker, never, 'bytes32')], `&salt=${never.order.salt}`)).toEqual([
        'CANCELLED',
      ]);
      const item = cancelling(maker, second);
      const body = [
        { orderHash: hashOf(second), signature: item.signature, salt: second.order.salt },
        { orderHash: unknownHash, signature: item.signature },
      ];
      const mixed = await fetch(`${ingress.url}/cancellations`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      });
      const problem = await refused(mixed);
      expect(problem).toMatchObject({ status: 503, code: 'unavailable', retryable: true });
      expect(problem['detail']).toMatch(/the 1 other orders were cancelled\. With the order's salt/);
      // A signature by a stranger cancels nothing.
      const stranger = newWallet();
      const foreign = cancelling(stranger, order);
      expect(await refused(await remove([foreign], `&salt=${order.order.salt}`))).toMatchObject({
        status: 403,
        code: 'invalid_signature',
      });
    } finally {
      await ingress.gates.postgres.open();
    }
    for (const each of [order, second, never]) await isCancelledOnce(hashOf(each));
    await isGone(cancelling(maker, order));
    // The cancellation stands before the order: it can never become one.
    await until('it is a duplicate', async () => (await refused(await post([never])))['code'] === 'duplicate');
    await ingress.restart();
  });
});

describe('unknown hashes', () => {
  test('beyond the bound are 503, and nothing else suffers; with their salt they are cancelled', async () => {
    await ingress.restart({ UNKNOWN_HASHES_PER_CLIENT_MAX: '3' });
    const order = await placeOne();
    const { signature } = cancelling(maker, order);
    const unknown = (n: number) => ({ hash: `0x${String(n).padStart(64, '0')}`, signature });
    expect(await cancelled([unknown(1), unknown(2)])).toEqual(['NOT_FOUND', 'NOT_FOUND']);
    expect(await refused(await remove([unknown(3), unknown(4)]))).toMatchObject({ status: 503, retryable: true });
    expect(await cancelled([unknown(5)])).toEqual(['NOT_FOUND']);
    expect(await refused(await remove([unknown(6)]))).toMatchObject({ status: 503, retryable: true });
    const never = await signOrder(maker);
    expect(await cancelled([cancelling(maker, never)], `&salt=${never.order.salt}`)).toEqual(['CANCELLED']);
    await placeOne();
    expect(await cancelled([cancelling(maker, order)])).toEqual(['CANCELLED']);
    await ingress.restart();
  });
});

describe('an order that is still being placed', () => {
  const post = (orders: SignedOrder[]) =>
    fetch(ingress.url, {
      method: 'POST',
      body: JSON.stringify(orders),
      headers: { 'content-type': 'application/json' },
    });

  test('is not placed after a DELETE was answered that it is unknown, unless it is posted anew', async () => {
    const order = await signOrder(maker);
    const { hostname, port, pathname } = new URL(ingress.url);
    const body = JSON.stringify([order]);
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk.toString();
    });
    const closed = new Promise((resolve) => socket.on('close', resolve));
    const head = ['Host: a', 'Content-Type: application/json', `Content-Length: ${body.length}`, 'Connection: close'];
    socket.write(`POST ${pathname} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${body.slice(0, 10)}`);
    await settle();
    expect(await cancelled([cancelling(maker, order)])).toEqual(['NOT_FOUND']);
    socket.write(body.slice(10));
    await closed;
    expect(answer).toMatch(/^HTTP\/1.1 400 [\s\S]*"code":"order_cancelled"[\s\S]*"index":0/);
    expect((await post([order])).status).toBe(200);
    expect(await cancelled([cancelling(maker, order)])).toEqual(['CANCELLED']);
  });
});
