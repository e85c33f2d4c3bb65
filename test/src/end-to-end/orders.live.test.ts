import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { SignedOrder } from '@makerbook/client';
import { decodeBookEntry, topicNames } from '@makerbook/contracts-events';
import { connectLog, type Log } from '@makerbook/kafka';
import { connectPostgres, findOrders } from '@makerbook/postgres';
import { admitMaker } from '../demo/admit-maker.js';
import { eventually, openChain, openMaker, type TestChain, type TestMaker } from './open-maker.js';
import { type OpenStack, openStack } from './open-stack.js';

const noReason = 'no reason';
let stack: OpenStack;
let chain: TestChain;
let log: Log;
/** What the router was told last of each order. */
const book = new Map<string, string>();
const remaining = new Map<string, bigint>();

beforeAll(async () => {
  stack = await openStack({ ownParts: false });
  chain = openChain(stack);
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
        remaining.set(key, BigInt(entry.remainingMakingAmount));
      }
    },
  });
}, 180_000);

afterAll(async () => {
  chain?.stop();
  await log?.close();
  await stack?.stop();
}, 60_000);

/** Waits until the maker's list and the router's feed say the same. */
async function both(maker: TestMaker, orders: SignedOrder[], expected: string[], told = expected): Promise<void> {
  await maker.lists(orders, expected);
  await eventually(async () => orders.map(({ orderHash }) => book.get(orderHash) ?? 'nothing'), told);
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
    const postgres = connectPostgres({
      url: stack.addresses.databaseUrl,
      applicationName: 'test',
      onConnectionLost() {},
    });
    const found = await findOrders(
      postgres,
      orders.map(({ orderHash }) => orderHash),
    );
    await postgres.close();
    expect([...found.keys()].sort()).toEqual(orders.map(({ orderHash }) => orderHash).sort());
  });

  test('without funds is INACTIVE, allowance first, and follows each of them there and back', async () => {
    const maker = await openMaker(stack, chain);
    const orders = await maker.place({});
    await both(maker, orders, ['INACTIVE INSUFFICIENT_ALLOWANCE']);
    await maker.approve(100n);
    await both(maker, orders, ['INACTIVE INSUFFICIENT_BALANCE']);
    await maker.mint(100n);
    await both(maker, orders, ['ACTIVE']);
    await maker.spend(1n);
    await both(maker, orders, ['INACTIVE INSUFFICIENT_BALANCE']);
    await maker.mint(1n);
    await both(maker, orders, ['ACTIVE']);
    await maker.approve(99n);
    await both(maker, orders, ['INACTIVE INSUFFICIENT_ALLOWANCE']);
    await maker.approve(100n);
    await both(maker, orders, ['ACTIVE']);
  });

  test('cancelled by DELETE is gone from the list at once, and from the feed', async () => {
    const maker = await funded();
    const [first, second] = (await maker.place({}, {})) as [SignedOrder, SignedOrder];
    const ask = { orderHash: first.orderHash, salt: first.order.salt };
    expect(await maker.client.cancelOrders([ask])).toEqual([{ orderHash: first.orderHash, status: 'CANCELLED' }]);
    expect((await maker.statuses(first, second))[0]).toBe('gone');
    await both(maker, [first, second], ['gone', 'ACTIVE'], ['gone CANCELLED', 'ACTIVE']);
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
    await eventually(() => maker.place({ nonce: 0n }).catch(({ code }: { code: string }) => code), 'order_cancelled');
    const next = await maker.place({ nonce: 1n });
    await both(maker, next, ['ACTIVE']);
  });

  test('with a nonce ahead of the chain’s is VALIDATING until a later block, then removed', async () => {
    const maker = await funded();
    const orders = await maker.place({ nonce: 5n });
    await both(maker, orders, ['gone'], ['gone NONCE_CHANGED']);
  });

  test('partly filled needs less, and filled is gone', async () => {
    const maker = await funded(100n);
    const orders = await maker.place({ amount: 100n });
    const [order] = orders as [SignedOrder];
    await both(maker, orders, ['ACTIVE']);
    await maker.fill(order, 60n);
    await eventually(async () => remaining.get(order.orderHash) === 40n, true);
    await both(maker, orders, ['ACTIVE']);
    await maker.spend(1n);
    await both(maker, orders, ['INACTIVE INSUFFICIENT_BALANCE']);
    await maker.mint(1n);
    await both(maker, orders, ['ACTIVE']);
    await maker.fill(order, 40n);
    await both(maker, orders, ['gone'], ['gone FILLED']);
  });

  test('that was cancelled or filled on the chain before it was posted never stays', async () => {
    const maker = await funded();
    const [cancelled, filled] = [await maker.sign(), await maker.sign()];
    await maker.cancelOnChain(cancelled);
    await maker.fill(filled, 100n);
    await maker.client.placeOrders([cancelled, filled]);
    await both(maker, [cancelled, filled], ['gone', 'gone'], ['gone CANCELLED_ONCHAIN', 'gone FILLED']);
  });

  test('leaves the feed 60 s before it expires while the maker still lists it, and is gone at its expiry', async () => {
    const maker = await funded();
    const orders = await maker.place({ expiresIn: 600 });
    await both(maker, orders, ['ACTIVE']);
    await chain.warp(550);
    await both(maker, orders, ['ACTIVE'], ['gone GRACE_PERIOD']);
    await chain.warp(60);
    await both(maker, orders, ['gone'], ['gone GRACE_PERIOD']);
  });

  test('in a wrapped-native token follows deposits and withdrawals', async () => {
    const native = stack.addresses.tokens.findIndex(({ symbol }) => /^W/.test(symbol));
    expect(native).toBeGreaterThanOrEqual(0);
    const maker = await openMaker(stack, chain);
    await maker.approve(1000n, native);
    const orders = await maker.place({ token: native });
    await both(maker, orders, ['INACTIVE INSUFFICIENT_BALANCE']);
    await maker.mint(100n, native);
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
}, 120_000);
