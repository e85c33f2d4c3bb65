import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MakerbookError, type SignedOrder } from '@makerbook/client';
import { eventually } from '../kit/eventually.js';
import { type OpenStack, openStack } from '../kit/open-stack.js';
import { openChain, openMaker, type TestChain, type TestMaker } from './open-maker.js';

const LIMIT = 30;
const KILLS = 4;
const CALLERS = 6;
let stack: OpenStack;
let chain: TestChain;
let maker: TestMaker;

beforeAll(async () => {
  stack = await openStack({
    ownParts: true,
    settings: { MAX_OPEN_ORDERS_PER_MAKER: String(LIMIT), CLIENT_REQUESTS_MAX: '100000', APPEND_TIMEOUT_MS: '2000' },
  });
  chain = openChain(stack);
  maker = await openMaker(stack, chain);
});

afterAll(async () => {
  chain?.stop();
  await stack?.stop();
});

/** How often each order was answered with 200. */
const accepted = new Map<string, number>();

async function post(order: SignedOrder): Promise<string> {
  try {
    await maker.client.placeOrders([order]);
    accepted.set(order.orderHash, (accepted.get(order.orderHash) ?? 0) + 1);
    return 'stored';
  } catch (error) {
    if (error instanceof MakerbookError) return error.code;
    throw error;
  }
}

test('a maker’s orders are taken once and up to its limit while Postgres is killed again and again', async () => {
  const expiresAt = Math.floor(Date.now() / 1000) + 7200;
  const orders = await Promise.all(Array.from({ length: 3 * LIMIT }, () => maker.sign({ amount: 1n, expiresAt })));
  let isOver = false;
  let next = 0;
  const answers = new Set<string>();
  const call = async () => {
    while (!isOver) {
      // Each order is sent by several callers, one after the other and at once.
      const order = orders[next % orders.length];
      next += 1;
      if (order !== undefined) answers.add(await post(order));
      await pause(20);
    }
  };
  const calling = Promise.all(Array.from({ length: CALLERS }, call));
  calling.catch(() => undefined);
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = accepted.size;
    await pause(1_000);
    await eventually(async () => stack.signal('SIGKILL', 'Postgres'), undefined);
    await stack.ready();
    if (before < LIMIT) await eventually(async () => accepted.size > before, true);
  }
  isOver = true;
  await calling;
  expect([...answers].sort()).toEqual(expect.arrayContaining(['stored', 'unavailable']));
  expect([...accepted.values()].filter((times) => times > 1)).toEqual([]);
  await eventually(async () => (await maker.client.listOrders()).readLag, 0);
  const { records } = await maker.client.listOrders();
  expect(records.length).toBeLessThanOrEqual(LIMIT);
  const listed = new Set(records.map(({ orderHash }) => orderHash));
  expect([...accepted.keys()].filter((orderHash) => !listed.has(orderHash as never))).toEqual([]);
}, 600_000);
