import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, expect, test } from '@jest/globals';
import type { SignedOrder } from '@makerbook/client';
import { compareFeed } from '../kit/compare-feed.js';
import { eventually } from '../kit/eventually.js';
import { openMakers, type TestMaker } from '../kit/open-maker.js';
import { deleteRows, saveRows } from '../kit/save-rows.js';
import { verifyRows } from '../kit/verify-rows.js';
import type { WholeStack } from './open-whole.js';

const noBalance = 'INACTIVE INSUFFICIENT_BALANCE';
const SERVICES = ['ingress', 'query', 'projector', 'chain-watcher'];

/** Tests a database that has lost some or all of its rows. */
export function testRestores(whole: () => WholeStack): void {
  let makers: TestMaker[];
  /** A maker whose funds change all the time. */
  let restless: TestMaker;

  beforeAll(async () => {
    const { stack, chain } = whole();
    makers = await openMakers(stack, chain, 4);
    await Promise.all(
      makers.map(async (maker) => {
        await maker.mint(1000n);
        await maker.approve(100_000n);
      }),
    );
    restless = makers.pop() as TestMaker;
  });

  /** Takes the orders of each maker through every way to change and to go. */
  const trade = () => Promise.all(makers.map(tradeOne));

  /** Expects rows and feed to be what the log leads to. A message published twice would make the reader throw. */
  async function expectAgreement(): Promise<void> {
    const { stack, feed } = whole();
    // Stop the blocks, so that nothing is appended meanwhile.
    await stack.freeze('anvil');
    try {
      const partitions = Number(stack.operatorEnvironment['PARTITIONS']);
      await eventually(async () => [...compareFeed(feed, partitions), ...(await verifyRows(stack))], []);
    } finally {
      stack.signal('SIGCONT', 'anvil');
    }
  }

  /** Changes a maker's funds, so that an order is covered and not covered, until the work is done. */
  async function whileFundsChange(work: () => Promise<void>): Promise<void> {
    let isOver = false;
    const changing = (async () => {
      while (!isOver) {
        await restless.spend(1n);
        await restless.mint(1n);
        await pause(50);
      }
    })();
    await work().finally(() => {
      isOver = true;
      return changing;
    });
  }

  /** How much the maker has to send away to have one unit too few for the order. */
  async function balanceLeft({ order }: SignedOrder): Promise<bigint> {
    const data = `0x70a08231${order.maker.slice(2).padStart(64, '0')}`;
    const balance = BigInt(await whole().chain.provider.call({ to: order.making.token, data }));
    return balance - BigInt(order.making.amount) + 1n;
  }

  /** Freezes the services during the work, and then starts all of them again on its results. */
  async function whileStopped(work: () => Promise<void>): Promise<void> {
    const { stack } = whole();
    for (const service of SERVICES) await stack.freeze(service);
    await work();
    stack.signal('SIGKILL', ...SERVICES);
    await stack.ready();
  }

  test.each(['an older dump', 'nothing'])(
    'where services are stopped and started on a database that holds %s, rows and lists come to what they were, and the router hears nothing twice',
    async (what) => {
      const { postgres, feed } = whole();
      const [first] = makers as [TestMaker];
      await placeAtLast(restless, 1, 1000n);
      await trade();
      const lose = what === 'nothing' ? () => deleteRows(postgres) : await saveRows(postgres);
      const [poor] = (await placeAtLast(first, 1)) as [SignedOrder];
      await trade();
      await first.lists([poor], ['ACTIVE']);
      await whileFundsChange(async () => {
        await whileStopped(lose);
        await trade();
      });
      await expect(first.client.placeOrders([poor])).rejects.toMatchObject({ code: 'duplicate' });
      await first.spend(await balanceLeft(poor));
      await first.lists([poor], [noBalance]);
      await eventually(async () => feed.last(poor.orderHash), noBalance);
      await first.mint(2000n);
      await first.lists([poor], ['ACTIVE']);
      await expectAgreement();
    },
    600_000,
  );
}

async function tradeOne(maker: TestMaker): Promise<void> {
  const orders = await placeAtLast(maker, 5);
  type Five = [SignedOrder, SignedOrder, SignedOrder, SignedOrder, SignedOrder];
  const [kept, deleted, cancelled, filled, partly] = orders as Five;
  await maker.lists([kept, partly], ['ACTIVE', 'ACTIVE']);
  await maker.client.cancelOrders([{ orderHash: deleted.orderHash, salt: deleted.order.salt }]);
  await maker.cancelOnChain(cancelled);
  await maker.fill(filled, 100n);
  await maker.fill(partly, 40n);
  await maker.spend(1n);
  await maker.mint(141n);
  await maker.lists(orders, ['ACTIVE', 'gone', 'gone', 'gone', 'ACTIVE']);
}

/** Places orders, and retries as long as POST is refused because the read model is far behind. */
async function placeAtLast(maker: TestMaker, count: number, amount = 100n): Promise<SignedOrder[]> {
  const orders = await Promise.all(Array.from({ length: count }, () => maker.sign({ amount })));
  const post = () =>
    maker.client.placeOrders(orders).then(
      () => 'stored',
      ({ code }: { code?: string }) => (code === 'duplicate' ? 'stored' : code),
    );
  await eventually(post, 'stored');
  return orders;
}
