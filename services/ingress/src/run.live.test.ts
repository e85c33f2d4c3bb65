import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { decodeMakerEvent } from '@makerbook/contracts-events';
import { receiptTypes, typedDataDomain } from '@makerbook/contracts-evm';
import { paths } from '@makerbook/contracts-http';
import { partitionOf } from '@makerbook/kafka';
import { until } from '@makerbook/parts';
import { projectedPositions } from '@makerbook/postgres';
import { verifyTypedData, type Wallet } from 'ethers';
import {
  hashOf,
  lower,
  newWallet,
  type SignedOrder,
  signCancellation,
  signExit,
  signOrder,
  tokenA,
} from './testing/sign-test-orders.js';
import { serviceKey, serviceSigner } from './testing/sign-test-quotes.js';
import { startTestIngress, type TestIngress, testDomain } from './testing/start-test-ingress.js';

let ingress: TestIngress;
let maker: Wallet;
/** A maker of another partition. */
let sibling: Wallet;

beforeAll(async () => {
  ingress = await startTestIngress({ RECEIPT_SIGNER_KEY: serviceKey, RECEIPT_SIGNERS: serviceSigner });
  maker = newWallet();
  do sibling = newWallet();
  while (partitionOf(lower(sibling), ingress.partitions) === partitionOf(lower(maker), ingress.partitions));
  for (const wallet of [maker, sibling]) await ingress.showMaker(wallet);
});
afterAll(() => ingress.stop());

const post = (body: unknown, path: string = paths.limitOrders) =>
  fetch(new URL(path, ingress.url), {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
async function answerOf(response: Response): Promise<unknown> {
  const text = await response.text();
  expect(`${response.status} ${text.slice(0, 300)}`).toMatch(/^200 /);
  return JSON.parse(text);
}
async function place(...wallets: Wallet[]): Promise<SignedOrder[]> {
  const orders = await Promise.all(wallets.map((wallet) => signOrder(wallet)));
  await answerOf(await post(orders));
  return orders;
}
const cancelling = (wallet: Wallet, order: SignedOrder) => {
  const orderHash = hashOf(order);
  return { orderHash, signature: signCancellation(wallet, orderHash, order.order.salt, 'uint256') };
};
const remove = (items: readonly ReturnType<typeof cancelling>[], more = '', headers = {}) => {
  const hashes = items.map(({ orderHash }) => orderHash).join();
  const signatures = items.map(({ signature }) => signature).join();
  return fetch(`${ingress.url}?orderHashes=${hashes}&signatures=${signatures}${more}`, { method: 'DELETE', headers });
};
/** The only fact of this type that holds the text, once it is there. */
async function factOf(type: string, text: string) {
  const found = () =>
    ingress.facts.filter(
      ({ record }) => record.headers['ce_type'] === `makerbook.${type}.v1` && record.value?.toString().includes(text),
    );
  await until(`${type} is in the log`, () => found().length > 0);
  const [{ partition, record }, ...more] = found() as [(typeof ingress.facts)[number]];
  expect(more).toEqual([]);
  const fact = decodeMakerEvent({ headers: { ...record.headers }, value: record.value });
  return { partition, offset: record.offset, position: `${partition}:${record.offset}`, fact };
}

test('POST answers the records in request order, in normal form, after the log has them', async () => {
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
  const response = await post([plain, shouted]);
  expect(await answerOf(response)).toEqual([
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
  const { partition, position, fact } = await factOf('OrderSubmitted', hashOf(odd));
  expect(partition).toBe(partitionOf(lower(maker), ingress.partitions));
  expect(response.headers.get('x-log-position')).toBe(position);
  expect(fact).toMatchObject({ type: 'OrderSubmitted', maker: lower(maker), orderHash: hashOf(odd) });
});

test('a cancellation says and certifies where in the log it is, and waits for the feed where it is asked to', async () => {
  const [mine, late, other] = (await place(maker, maker, sibling)) as [SignedOrder, SignedOrder, SignedOrder];
  const ask = async (wait: string, ...items: Parameters<typeof remove>[0]) => {
    const { status, headers } = await remove(items, '', { Prefer: `${wait}, receipt` });
    receipt = headers.get('x-receipt');
    return [status, headers.get('x-log-position'), headers.get('preference-applied')];
  };
  let receipt: string | null = null;
  const both = await ask('wait=60', cancelling(maker, mine), cancelling(sibling, other));
  const positions = await projectedPositions(ingress.postgres);
  const facts = [await factOf('OrderCancelled', hashOf(mine)), await factOf('OrderCancelled', hashOf(other))];
  const position = facts.map((fact) => fact.position).join(', ');
  expect(both).toEqual([200, position, 'wait=20, receipt']);
  const message = { placed: [], cancelled: [mine, other].map(hashOf), messages: [], position };
  const signer = verifyTypedData(typedDataDomain(testDomain), receiptTypes, message, receipt ?? '');
  expect(signer.toLowerCase()).toBe(serviceSigner);
  for (const { partition, offset } of facts) expect(positions.get(partition)).toBeGreaterThan(offset);

  const release = ingress.holdRows();
  const alone = await ask('wait=1', cancelling(maker, late)).finally(release);
  expect(alone).toEqual([200, (await factOf('OrderCancelled', hashOf(late))).position, 'receipt']);
  // Nothing is cancelled, and nothing is waited for.
  expect(await ask('wait=20', cancelling(maker, await signOrder(maker)))).toEqual([200, null, null]);
});

test('POST …/cancellations is counted with DELETE, for the maker and for the client address', async () => {
  const left = (response: Response, name: string) =>
    Number(new RegExp(`"${name}"; r=(\\d+)`).exec(response.headers.get('ratelimit') ?? '')?.[1]);
  const [first, second] = (await place(maker, maker)) as [SignedOrder, SignedOrder];
  const removed = await remove([cancelling(maker, first)]);
  const posted = await post([cancelling(maker, second)], paths.cancellations);
  expect(left(posted, 'client-cancels')).toBe(left(removed, 'client-cancels') - 1);
  expect(left(posted, 'cancels')).toBeGreaterThan(0);
  for (const { headers } of [removed, posted]) {
    const names = [...(headers.get('ratelimit-policy') ?? '').matchAll(/"([\w-]+)"/g)].map(([, name]) => name);
    expect(names).toEqual(['client-cancels', 'cancels']);
  }
});

test('an order is not placed after a DELETE was answered that it is unknown, unless it is posted anew', async () => {
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
  // Time for its head to be received.
  await new Promise((resolve) => setTimeout(resolve, 400));
  const item = cancelling(maker, order);
  expect(await answerOf(await remove([item]))).toMatchObject([{ status: 'NOT_FOUND' }]);
  socket.write(body.slice(10));
  await closed;
  expect(answer).toMatch(/^HTTP\/1.1 400 [\s\S]*"code":"order_cancelled"[\s\S]*"index":0/);
  await answerOf(await post([order]));
  expect(await answerOf(await remove([item]))).toMatchObject([{ status: 'CANCELLED' }]);
});

const key = newWallet();
const send = async (...[what, signer, terms]: Parameters<typeof signExit>) =>
  post(await signExit(what, signer, terms, what === 'heartbeat' ? key : signer), paths[what]);

test('what a maker says of all its orders is one fact each, and a key may cancel until it is revoked', async () => {
  const owner = newWallet();
  await ingress.showMaker(owner, { cancelKeys: [lower(key)] });
  const cancelAt = Math.floor(Date.now() / 1000) + 30;
  for (const [what, terms, type, told] of [
    [
      'cancelAll',
      { making: tokenA.toUpperCase().replace('0X', '0x'), untilMs: Date.now() },
      'OrdersCancelled',
      { making: tokenA },
    ],
    ['heartbeat', { cancelAt }, 'SwitchSet', { cancelAt }],
    ['cancelKeys', { keys: [key.address] }, 'CancelKeysSet', { keys: [lower(key)] }],
    [
      'fillCap',
      { token: tokenA, amount: '0x00Ff', windowSeconds: 60 },
      'FillCapSet',
      { token: tokenA, amount: '0xff', windowSeconds: 60 },
    ],
  ] as const) {
    const response = await send(what, owner, terms);
    expect(await answerOf(response)).toMatchObject({ maker: lower(owner), ...told });
    const { position, fact } = await factOf(type, lower(owner));
    expect(response.headers.get('x-log-position')).toBe(position);
    const requestId = response.headers.get('x-request-id');
    expect(fact).toMatchObject({ type, maker: lower(owner), ...told, cause: { kind: 'request', requestId } });
  }
  await ingress.showMaker(owner);
  await until('the key is revoked', async () => (await send('heartbeat', owner, { cancelAt: 0 })).status === 403);
});

test('while Postgres is away orders are cancelled with their salts, one and all, and none is placed', async () => {
  const [order] = (await place(maker)) as [SignedOrder];
  const never = await signOrder(sibling);
  await ingress.gates.postgres.shut();
  try {
    expect((await post([await signOrder(maker)])).status).toBe(503);
    const ready = await (await fetch(`${ingress.opsUrl}/readyz`)).json();
    expect(ready).toMatchObject({ status: 'ok', checks: { postgres: expect.stringMatching(/away/) } });
    for (const [wallet, each] of [
      [maker, order],
      [sibling, never],
    ] as const) {
      const answer = await answerOf(await remove([cancelling(wallet, each)], `&salt=${each.order.salt}`));
      expect(answer).toEqual([{ orderHash: hashOf(each), status: 'CANCELLED' }]);
    }
    await answerOf(await post(await signExit('cancelAll', sibling, { untilMs: Date.now() }), paths.cancelAll));
  } finally {
    await ingress.gates.postgres.open();
  }
  for (const each of [order, never]) await factOf('OrderCancelled', hashOf(each));
  await factOf('OrdersCancelled', lower(sibling));
});
