import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { SignedOrder } from '@makerbook/client';
import { type KafkaCluster, startKafkaCluster } from '@makerbook/parts';
import { connectPostgres, type Postgres } from '@makerbook/postgres';
import { eventually } from '../kit/eventually.js';
import { type OpenStack, openStack } from '../kit/open-stack.js';
import { checkOrders } from './check-orders.js';
import { type FollowedOrders, followOrders } from './follow-orders.js';
import { openChain, openMaker, type TestChain, type TestMaker } from './open-maker.js';

/** Enough that the broker that hangs does not lead the partitions of all: then nothing would come to the log. */
const MAKERS = 8;
const folder = mkdtempSync(join(tmpdir(), 'makerbook-cluster-'));
let cluster: KafkaCluster;
let stack: OpenStack;
let chain: TestChain;
let postgres: Postgres;
let feed: FollowedOrders;

beforeAll(async () => {
  cluster = await startKafkaCluster(folder, 3);
  const settings = { KAFKA_BROKERS: cluster.brokers, TOPIC_REPLICATION_FACTOR: '3' };
  stack = await openStack({ ownParts: false, settings });
  chain = openChain(stack);
  postgres = connectPostgres({ url: stack.addresses.databaseUrl });
  feed = followOrders(stack);
});

afterAll(async () => {
  await feed?.close();
  await postgres?.close();
  chain?.stop();
  await stack?.stop();
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** As one request; a POST of which the outcome is not known is 503. */
const post = (maker: TestMaker, order: SignedOrder) =>
  maker.client.placeOrders([order]).then(
    () => 'stored',
    (error: { code?: string }) => error.code ?? String(error),
  );

async function cancelled(maker: TestMaker, { orderHash, order }: SignedOrder): Promise<string[]> {
  const answers: string[] = [];
  do {
    answers.push(
      await maker.client.cancelOrders([{ orderHash, salt: order.salt }]).then(
        ([one]) => one?.status ?? 'nothing',
        (error: { code?: string }) => error.code ?? String(error),
      ),
    );
  } while (answers.at(-1) === 'unavailable');
  return answers;
}

/** The read model may be behind for a while, where three brokers share a busy machine and where one has hung. */
async function placeAtLast(maker: TestMaker): Promise<SignedOrder[]> {
  for (;;) {
    try {
      return await maker.place({});
    } catch (error) {
      if ((error as { code?: string }).code !== 'unavailable') throw error;
    }
  }
}

test('a broker hangs: an order whose POST was not confirmed is cancelled by a DELETE, and never active', async () => {
  const makers = await Promise.all(Array.from({ length: MAKERS }, () => openMaker(stack, chain)));
  for (const maker of makers) {
    await maker.mint(1_000n);
    await maker.approve(1_000n);
    await maker.lists(await placeAtLast(maker), ['ACTIVE']);
  }
  const orders = await Promise.all(makers.map((maker) => maker.sign()));
  const hung = cluster.nodes[2];
  if (hung === undefined) throw new Error('there is no third broker');
  await hung.freeze();
  const posted = await Promise.all(makers.map((maker, n) => post(maker, orders[n] as SignedOrder)));
  expect(posted).toContain('unavailable');
  const answers = await Promise.all(makers.map((maker, n) => cancelled(maker, orders[n] as SignedOrder)));
  hung.kill('SIGCONT');
  const ends = answers.map((all) => all.at(-1));
  expect(ends).toContain('CANCELLED');

  // What was not confirmed has come to the log all the same.
  const stored = () =>
    postgres.query<{ order_hash: string }>(
      `select encode(order_hash, 'hex') as order_hash from order_history where happened = 'OPENED'
       and order_hash = any($1::bytea[])`,
      [orders.map(({ orderHash }) => `\\x${orderHash.slice(2)}`)],
    );
  await eventually(async () => (await stored()).length > 0, true);
  // Whatever else was on its way stands before what is posted now.
  for (const maker of makers) await maker.lists(await placeAtLast(maker), ['ACTIVE']);
  const opened = new Set((await stored()).map(({ order_hash }) => `0x${order_hash}`));
  // Where the request never left, the DELETE may say that there is no such order; and then there never is one.
  for (const [n, end] of ends.entries()) {
    if (end !== 'CANCELLED') expect([end, opened.has(orders[n]?.orderHash ?? '')]).toEqual(['NOT_FOUND', false]);
  }
  const came = orders.filter(({ orderHash }) => opened.has(orderHash));
  await checkOrders(feed, postgres).remembered(
    came,
    came.map(() => 'CANCELLED'),
  );
  for (const [n, maker] of makers.entries()) expect(await maker.statuses(orders[n] as SignedOrder)).toEqual(['gone']);
  for (const order of orders) {
    expect(feed.steps(order).map(({ status }) => status)).not.toContain('ACTIVE');
    expect(['nothing', 'gone CANCELLED']).toContain(feed.last(order.orderHash));
  }
});
