import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { paths } from '@makerbook/contracts-http';
import type { HDNodeWallet } from 'ethers';
import { openTestQuery, signRead, type TestQuery } from './testing/open-test-query.js';

let running: TestQuery;
let wallet: HDNodeWallet;
beforeAll(async () => {
  running = await openTestQuery({ READ_WAIT_MS_MAX: '300' });
  wallet = await running.admitMaker();
});
afterAll(() => running.stop());

/** Asks for an order, again and again with the same request where it is called again. */
async function asking(orderHash = '') {
  const query = await signRead(wallet, 'limitOrder', { orderHash });
  return async () => {
    const answer = await running.send(`${paths.limitOrders}/${orderHash}?${query}`);
    return [answer.status, ((await answer.json()) as { code: string }).code];
  };
}
const ask = async (orderHash?: string) => (await asking(orderHash))();

async function prune(): Promise<void> {
  await running.postgres.query('truncate order_history, fills');
  await running.postgres.query('update projections set history_from = next_offset');
}

test('an order on its way is waited for, and is not said to be unknown', async () => {
  const [placed] = await running.projector.place(wallet);
  expect(await ask(placed?.orderHash)).toEqual([503, 'unavailable']);
});

test('an order whose history is pruned is gone', async () => {
  const [placed] = await running.projector.place(wallet);
  await running.projector.project();
  await running.postgres.query(
    `insert into hashes (order_hash, maker, partition, state, nonce, expires_at_seconds)
     select order_hash, maker, partition, 'ACCEPTED', 0, expires_at_seconds from orders`,
  );
  await prune();
  expect(await ask(placed?.orderHash)).toEqual([410, 'gone']);
});

test('a page behind what is pruned is gone, and without a cursor the history begins with what is kept', async () => {
  await running.projector.project();
  await prune();
  const read = (more = '') => running.ask('history', wallet, more);
  const answer = await read('&cursor=0');
  expect([answer.status, await answer.json()]).toMatchObject([410, { code: 'gone' }]);
  const kept = await read();
  expect([kept.status, await kept.json()]).toMatchObject([200, { entries: [], hasMore: false }]);
  expect((await read('&fromMs=4000000000000')).status).toBe(200);
});

test('a hash is not posted to', async () => {
  const posted = await running.send(`${paths.limitOrders}/0x12`, { method: 'POST' });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
});

test('while Postgres is away it cannot be answered, and the same request may come again', async () => {
  const again = await asking(`0x${'02'.repeat(32)}`);
  await running.gates.postgres.shut();
  expect(await again()).toEqual([503, 'unavailable']);
  await running.gates.postgres.open();
  let [status, code] = await again();
  while (status === 503) [status, code] = await again();
  expect([status, code]).toEqual([404, 'not_found']);
});

test('operators are told at the ops port what a maker may do, and that nothing is known of an order', async () => {
  const maker = wallet.address.toLowerCase();
  const tell = async (path: string) => {
    const answer = await fetch(`${running.opsUrl}${path}`);
    return [answer.status, answer.status === 404 ? undefined : await answer.json()];
  };
  const limits = { openOrdersMax: 1000, ordersPerSecond: 100, ownLimits: [] };
  expect(await tell(`/makers/${maker}`)).toMatchObject([200, { admission: 'ADMITTED', quarantine: null, ...limits }]);
  expect(await tell(`/orders/0x${'02'.repeat(32)}`)).toEqual([404, undefined]);
  expect(await tell(`/makers/${maker}0`)).toEqual([404, undefined]);
});
