import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { HDNodeWallet } from 'ethers';
import {
  newWallet,
  openTestQuery,
  signHistoryRequest,
  signOrderRequest,
  type TestQuery,
} from './testing/open-test-query.js';

let running: TestQuery;
let wallet: HDNodeWallet;
beforeAll(async () => {
  running = await openTestQuery({ READ_WAIT_MS_MAX: '300' });
  wallet = newWallet();
  await running.projector.admit(wallet.address.toLowerCase() as `0x${string}`);
  await expectSoon(`0x${'01'.repeat(32)}`, 404);
});
afterAll(() => running.stop());

const ask = async (orderHash: string, signer = wallet) =>
  fetch(`${running.baseUrl}/v0alpha/limit-orders/${orderHash}?${await signOrderRequest(signer, orderHash)}`);
const codeOf = async (answer: Response) => ((await answer.json()) as { code: string }).code;

async function expectSoon(orderHash: string, status: number): Promise<void> {
  for (;;) if ((await ask(orderHash)).status === status) return;
}

test('an order on its way is waited for, and is not said to be unknown', async () => {
  const [placed] = await running.projector.place(wallet);
  const answer = await ask(placed?.orderHash ?? '');
  expect([answer.status, await codeOf(answer)]).toEqual([503, 'unavailable']);
});

test('an order whose history is pruned is gone', async () => {
  const [placed] = await running.projector.place(wallet);
  await running.projector.project();
  await running.postgres.query(
    `insert into hashes (order_hash, maker, partition, state, nonce, expires_at_seconds)
     select order_hash, maker, partition, 'ACCEPTED', 0, expires_at_seconds from orders`,
  );
  const answer = await ask(placed?.orderHash ?? '');
  expect([answer.status, await codeOf(answer)]).toEqual([410, 'gone']);
});

test('a page behind what is pruned is gone, and without a cursor the history begins with what is kept', async () => {
  await running.projector.project();
  await running.postgres.query('update projections set history_from = next_offset');
  const read = async (rest: string) =>
    fetch(`${running.baseUrl}/v0alpha/limit-orders/history?${await signHistoryRequest(wallet)}${rest}`);
  const answer = await read('&cursor=0');
  expect([answer.status, await codeOf(answer)]).toEqual([410, 'gone']);
  const kept = await read('');
  expect([kept.status, await kept.json()]).toMatchObject([200, { entries: [], hasMore: false }]);
  expect((await read('&fromMs=4000000000000')).status).toBe(200);
});

test('the path of a list and of other endpoints is not taken for a hash', async () => {
  const info = await fetch(`${running.baseUrl}/v0alpha/limit-orders/info`);
  expect(info.status).toBe(200);
  const cancellations = await fetch(`${running.baseUrl}/v0alpha/limit-orders/cancellations`);
  expect([cancellations.status, cancellations.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
  const posted = await fetch(`${running.baseUrl}/v0alpha/limit-orders/0x12`, { method: 'POST' });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
});

test('while Postgres is away it cannot be answered, and the same request may come again', async () => {
  const orderHash = `0x${'02'.repeat(32)}`;
  const query = await signOrderRequest(wallet, orderHash);
  const send = () => fetch(`${running.baseUrl}/v0alpha/limit-orders/${orderHash}?${query}`);
  await running.gates.postgres.shut();
  expect((await send()).status).toBe(503);
  await running.gates.postgres.open();
  for (;;) {
    const answer = await send();
    if (answer.status === 503) continue;
    expect([answer.status, await codeOf(answer)]).toEqual([404, 'not_found']);
    break;
  }
});
