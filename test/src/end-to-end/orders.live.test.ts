import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { SignedOrder } from '@makerbook/client';
import { type BookEntry, decodeBookEntry, topicNames } from '@makerbook/contracts-events';
import { connectLog, type Log } from '@makerbook/kafka';
import { byteaOf, connectPostgres, findOrders, type Postgres } from '@makerbook/postgres';
import { admitMaker } from '../demo/admit-maker.js';
import { eventually, openChain, openMaker, type TestChain, type TestMaker } from './open-maker.js';
import { type OpenStack, openStack } from './open-stack.js';

const noReason = 'no reason';
let stack: OpenStack;
let chain: TestChain;
let log: Log;
let postgres: Postgres;
/** What the router was told last of each order. */
const book = new Map<string, string>();
const entries = new Map<string, BookEntry>();
const everActive = new Set<string>();

beforeAll(async () => {
  // Without the sweep, which finds in some seconds what a log of the chain should have told at once.
  stack = await openStack({ ownParts: false, settings: { SWEEP_PAIRS_PER_SECOND: '0' } });
  chain = openChain(stack);
  postgres = connectPostgres({ url: stack.addresses.databaseUrl, applicationName: 'test', onConnectionLost() {} });
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  log = connectLog({ brokers: stack.addresses.kafkaBrokers.split(','), clientId: 'router', logger: quiet });
  log.followTopic({
    topic: topicNames(stack.topicPrefix).book,
    from: 'beginning',
    onRecords: (_partition, records) => {
      for (const { key, value, headers } of records) {
        if (value === null) {
          book.set(key, `gone ${headers['removal'] ?? noReason}`);
          continue;
        }
        const entry = decodeBookEntry({ value, headers });
        if ('unreadable' in entry) throw new Error(entry.unreadable);
        book.set(key, entry.status === 'INACTIVE' ? `INACTIVE ${entry.reason}` : entry.status);
        entries.set(key, entry);
        if (entry.status === 'ACTIVE') everActive.add(key);
      }
    },
  });
});

afterAll(async () => {
  chain?.stop();
  await log?.close();
  await postgres?.close();
  await stack?.stop();
});

/** Waits until the maker's list and the router's feed say the same. */
async function both(maker: TestMaker, orders: SignedOrder[], expected: string[], told = expected): Promise<void> {
  await maker.lists(orders, expected);
  await eventually(async () => orders.map(({ orderHash }) => book.get(orderHash) ?? 'nothing'), told);
}

/** Waits until the history, which nothing leaves, says why each order was removed; `open` for one that was not. */
async function remembered(orders: readonly SignedOrder[], expected: readonly string[]): Promise<void> {
  const ask = async () => {
    const rows = await postgres.query<{ order_hash: string; reason: string }>(
      `select order_hash, reason from order_history where happened = 'REMOVED' and order_hash = any($1::bytea[])`,
      [orders.map(({ orderHash }) => byteaOf(orderHash))],
    );
    return orders.map(
      ({ orderHash }) =>
        rows
          .filter(({ order_hash }) => order_hash === orderHash)
          .map(({ reason }) => reason)
          .join() || 'open',
    );
  };
  await eventually(ask, [...expected]);
}

async function funded(amount = 1000n): Promise<TestMaker> {
  const maker = await openMaker(stack, chain);
  await maker.mint(amount);
  await maker.approve(amount);
  return maker;
}

describe('an order, from POST to the router', () => {
  test('is listed as VALIDATING at once, then ACTIVE, in the list, in Postgres and in the router’s feed', async () => {
    const maker = await funded();
    const orders = [await maker.sign(), await maker.sign({ amount: 7n })];
    const records = await maker.client.placeOrders(orders);
    expect(records.map(({ status, orderHash }) => [status, orderHash])).toEqual(
      orders.map(({ orderHash }) => ['VALIDATING', orderHash]),
    );
    expect((await maker.client.listOrders()).records.map(({ orderHash }) => orderHash)).toEqual(
      orders.map(({ orderHash }) => orderHash),
    );
    await both(maker, orders, ['ACTIVE', 'ACTIVE']);
    const found = await findOrders(
      postgres,
      orders.map(({ orderHash }) => orderHash),
    );
    expect([...found.keys()].sort()).toEqual(orders.map(({ orderHash }) => orderHash).sort());
  });

  test('without funds is INACTIVE, allowance first, judged alone, and follows each of them there and back', async () => {
    const maker = await openMaker(stack, chain);
    // The funds will do for either of the first two, never for both; nor for the third.
    const orders = (await maker.place({}, {}, { amount: 101n })) as [SignedOrder, SignedOrder, SignedOrder];
    const [first, second] = orders;
    const [allowance, balance] = ['INACTIVE INSUFFICIENT_ALLOWANCE', 'INACTIVE INSUFFICIENT_BALANCE'];
    await both(maker, orders, [allowance, allowance, allowance]);
    await maker.approve(100n);
    await both(maker, orders, [balance, balance, allowance]);
    await maker.mint(100n);
    await both(maker, orders, ['ACTIVE', 'ACTIVE', allowance]);
    await maker.spend(1n);
    await both(maker, orders, [balance, balance, allowance]);
    await maker.mint(1n);
    await both(maker, orders, ['ACTIVE', 'ACTIVE', allowance]);
    await maker.approve(99n);
    await both(maker, orders, [allowance, allowance, allowance]);
    await maker.approve(101n);
    await both(maker, orders, ['ACTIVE', 'ACTIVE', balance]);
    await maker.spend(1n);
    // What cannot be filled can still be cancelled.
    await both(maker, orders, [balance, balance, balance]);
    await maker.client.cancelOrders([{ orderHash: first.orderHash, salt: first.order.salt }]);
    await maker.cancelOnChain(second);
    await both(maker, orders, ['gone', 'gone', balance], ['gone CANCELLED', 'gone CANCELLED_ONCHAIN', balance]);
    await remembered(orders, ['CANCELLED', 'CANCELLED_ONCHAIN', 'open']);
  });

  test('cancelled by DELETE is gone from the list at once, and from the feed', async () => {
    const maker = await funded();
    const [first, second] = (await maker.place({}, {})) as [SignedOrder, SignedOrder];
    const ask = { orderHash: first.orderHash, salt: first.order.salt };
    expect(await maker.client.cancelOrders([ask])).toEqual([{ orderHash: first.orderHash, status: 'CANCELLED' }]);
    expect((await maker.statuses(first, second))[0]).toBe('gone');
    await both(maker, [first, second], ['gone', 'ACTIVE'], ['gone CANCELLED', 'ACTIVE']);
    await remembered([first, second], ['CANCELLED', 'open']);
    expect(await maker.client.cancelOrders([ask])).toEqual([{ orderHash: first.orderHash, status: 'NOT_FOUND' }]);
    await expect(maker.client.placeOrders([first])).rejects.toMatchObject({ code: 'duplicate', index: 0 });
  });

  test('cancelled on the chain, one and all, is gone', async () => {
    const maker = await funded();
    const [first, second, later] = (await maker.place({}, {}, { nonce: 0n })) as [
      SignedOrder,
      SignedOrder,
      SignedOrder,
    ];
    await both(maker, [first, second, later], ['ACTIVE', 'ACTIVE', 'ACTIVE']);
    await maker.cancelOnChain(first);
    await both(maker, [first, second], ['gone', 'ACTIVE'], ['gone CANCELLED_ONCHAIN', 'ACTIVE']);
    await maker.cancelAllOnChain();
    await both(maker, [second, later], ['gone', 'gone'], ['gone NONCE_CHANGED', 'gone NONCE_CHANGED']);
    await remembered([first, second, later], ['CANCELLED_ONCHAIN', 'NONCE_CHANGED', 'NONCE_CHANGED']);
    await eventually(() => maker.place({ nonce: 0n }).catch(({ code }: { code: string }) => code), 'order_cancelled');
    const next = await maker.place({ nonce: 1n });
    await both(maker, next, ['ACTIVE']);
  });

  test('with a nonce ahead of the chain’s is VALIDATING until a block that is not older decides', async () => {
    const maker = await funded();
    let waiting: [SignedOrder, SignedOrder, SignedOrder];
    await chain.stopClock();
    try {
      const [now] = (await maker.place({})) as [SignedOrder];
      await both(maker, [now], ['ACTIVE']);
      waiting = (await maker.place({ nonce: 1n }, { nonce: 2n }, { nonce: 1n })) as typeof waiting;
      const [, , dropped] = waiting;
      // Blocks go on, and are seen; each of them is older than these orders.
      await maker.approve(99n);
      await both(maker, [now, ...waiting], ['INACTIVE INSUFFICIENT_ALLOWANCE', ...Array(3).fill('VALIDATING')]);
      await maker.approve(1000n);
      await both(maker, [now, ...waiting], ['ACTIVE', ...Array(3).fill('VALIDATING')]);
      await maker.client.cancelOrders([{ orderHash: dropped.orderHash, salt: dropped.order.salt }]);
      await both(maker, [dropped], ['gone'], ['gone CANCELLED']);
      await maker.cancelAllOnChain();
      await both(
        maker,
        [now, ...waiting],
        ['gone', 'ACTIVE', 'VALIDATING', 'gone'],
        ['gone NONCE_CHANGED', 'ACTIVE', 'VALIDATING', 'gone CANCELLED'],
      );
    } finally {
      await chain.startClock();
    }
    await both(maker, waiting, ['ACTIVE', 'gone', 'gone'], ['ACTIVE', 'gone NONCE_CHANGED', 'gone CANCELLED']);
    await remembered(waiting, ['open', 'NONCE_CHANGED', 'CANCELLED']);
    expect(waiting.map(({ orderHash }) => everActive.has(orderHash))).toEqual([true, false, false]);
  });

  test('that has expired by the clock of the server is hidden from its maker, and removed once a block says so', async () => {
    const maker = await funded();
    let orders: SignedOrder[] = [];
    await chain.stopClock();
    try {
      orders = await maker.place({ expiresIn: 12 }, {});
      // Less than 60 s before its expiry: the router never hears of the first one.
      await both(maker, orders, ['gone', 'ACTIVE'], ['nothing', 'ACTIVE']);
      await remembered(orders, ['open', 'open']);
    } finally {
      await chain.startClock();
    }
    await remembered(orders, ['EXPIRED', 'open']);
    await both(maker, orders, ['gone', 'ACTIVE'], ['nothing', 'ACTIVE']);
  });

  test('partly filled needs less, its record stays as it was signed, and filled it is gone', async () => {
    const maker = await funded(100n);
    const orders = await maker.place({ amount: 100n });
    const [order] = orders as [SignedOrder];
    const record = { order: order.order, orderHash: order.orderHash, signature: order.signature };
    const entry = () => entries.get(order.orderHash);
    await both(maker, orders, ['ACTIVE']);
    await maker.fill(order, 60n);
    await eventually(async () => entry()?.remainingMakingAmount, '0x28');
    await both(maker, orders, ['ACTIVE']);
    expect((await maker.client.listOrders()).records).toEqual([{ ...record, status: 'ACTIVE' }]);
    expect(entry()).toMatchObject(record);
    await maker.spend(1n);
    await both(maker, orders, ['INACTIVE INSUFFICIENT_BALANCE']);
    expect((await maker.client.listOrders()).records).toEqual([
      { ...record, status: 'INACTIVE', reason: 'INSUFFICIENT_BALANCE' },
    ]);
    await maker.mint(1n);
    await both(maker, orders, ['ACTIVE']);
    await maker.fill(order, 40n);
    await both(maker, orders, ['gone'], ['gone FILLED']);
    await remembered(orders, ['FILLED']);
  });

  test('that was cancelled or filled on the chain before it was posted is never told to the router as ACTIVE', async () => {
    const maker = await funded();
    // The maker's funds are known, so that the order itself is all that has to be looked at.
    const known = await maker.place({});
    await both(maker, known, ['ACTIVE']);
    const [cancelled, filled] = [await maker.sign(), await maker.sign()];
    await maker.cancelOnChain(cancelled);
    await maker.fill(filled, 100n);
    await maker.client.placeOrders([cancelled, filled]);
    await both(maker, [cancelled, filled], ['gone', 'gone'], ['gone CANCELLED_ONCHAIN', 'gone FILLED']);
    expect([...known, cancelled, filled].map(({ orderHash }) => everActive.has(orderHash))).toEqual([
      true,
      false,
      false,
    ]);
  });

  test('leaves the feed 60 s before it expires while the maker still lists it, and is gone at its expiry', async () => {
    const maker = await funded();
    const orders = await maker.place({ expiresIn: 600 });
    await both(maker, orders, ['ACTIVE']);
    await chain.warp(550);
    await both(maker, orders, ['ACTIVE'], ['gone GRACE_PERIOD']);
    await remembered(orders, ['open']);
    // The router still has this one when a block jumps over all of its last minute.
    orders.push(...(await maker.place({ expiresIn: 300 })));
    await both(maker, orders, ['ACTIVE', 'ACTIVE'], ['gone GRACE_PERIOD', 'ACTIVE']);
    await chain.warp(400);
    await both(maker, orders, ['gone', 'gone'], ['gone GRACE_PERIOD', 'gone EXPIRED']);
    await remembered(orders, ['EXPIRED', 'EXPIRED']);
  });

  test('in a wrapped-native token follows deposits and withdrawals', async () => {
    const native = stack.addresses.tokens.findIndex(({ symbol }) => symbol === 'WKAIA');
    expect(native).toBeGreaterThanOrEqual(0);
    const maker = await openMaker(stack, chain);
    await maker.approve(1000n, native);
    const orders = await maker.place({ token: native });
    await both(maker, orders, ['INACTIVE INSUFFICIENT_BALANCE']);
    await maker.deposit(100n, native);
    await both(maker, orders, ['ACTIVE']);
    await maker.withdraw(1n, native);
    await both(maker, orders, ['INACTIVE INSUFFICIENT_BALANCE']);
    await maker.deposit(1n, native);
    await both(maker, orders, ['ACTIVE']);
  });

  test('of a maker who is not on the whitelist is refused, and one who was taken off is refused again', async () => {
    const maker = await openMaker(stack, chain);

    const stranger = await maker.sign();
    await admitMaker(maker.wallet.address, stack.operatorEnvironment, 'remove');
    await eventually(
      () => maker.client.placeOrders([stranger]).catch(({ code }: { code: string }) => code),
      'maker_not_whitelisted',
    );
    await expect(maker.client.listOrders()).rejects.toMatchObject({ code: 'maker_not_whitelisted' });
  });
});

test('after SIGKILL of all four services at once, everything acknowledged is there, and life goes on', async () => {
  const maker = await funded();
  const orders = await maker.place({}, {}, {});
  stack.signal('SIGKILL', 'ingress', 'projector', 'query', 'chain-watcher');
  await stack.ready();
  await both(maker, orders, ['ACTIVE', 'ACTIVE', 'ACTIVE']);
  await maker.spend(1000n);
  await both(maker, orders, Array(3).fill('INACTIVE INSUFFICIENT_BALANCE'));
  const [next] = (await maker.place({ amount: 1n })) as [SignedOrder];
  await both(maker, [next], ['INACTIVE INSUFFICIENT_BALANCE']);
});
