import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Wallet } from 'ethers';
import { commandsIn, type RunningCommand, startCommand } from '../examples/run-commands.js';
import { eventually } from '../kit/eventually.js';
import { openMakers, type TestMaker } from '../kit/open-maker.js';
import { ROUTERS, type WholeStack } from './open-whole.js';

const [router = ''] = commandsIn('examples/README.md', 'npm run example:router');

/** Tests makers that wait for routers. The routers are separate processes. */
export function testAcks(whole: () => WholeStack): void {
  let running: RunningCommand[] = [];
  let makers: TestMaker[];
  beforeAll(async () => {
    const { stack, chain } = whole();
    makers = await openMakers(stack, chain, 2);
    const environment = { KAFKA_BROKERS: stack.addresses.kafkaBrokers, TOPIC_PREFIX: stack.topicPrefix };
    running = ROUTERS.map((name) => startCommand(router, { ...environment, ROUTER_NAME: name }));
  });
  afterAll(() => Promise.all(running.map((command) => command.stop())));

  /** Places an order and cancels it. Waits until it is in the book, unless it never gets there. */
  async function cancel(maker: TestMaker | undefined, waitSeconds: number, by?: 'router', isInBook = true) {
    if (maker === undefined) throw new Error('there is no maker');
    // Nobody can pay in a token without code.
    const order = await maker.sign(isInBook ? {} : { wants: Wallet.createRandom().address });
    await maker.client.placeOrders([order]);
    if (isInBook) await maker.lists([order], ['INACTIVE INSUFFICIENT_ALLOWANCE']);
    const asks = [{ orderHash: order.orderHash, salt: order.order.salt }];
    return maker.client.cancelOrdersAndWait(asks, waitSeconds, by && { by });
  }

  test('a cancellation is answered when routers have it, and one that hangs is named and delays nobody else', async () => {
    const [first, second] = makers;
    await eventually(async () => (await cancel(first, 5, 'router')).unseenBy, []);
    const seen = await cancel(first, 20, 'router');
    expect(seen).toMatchObject({ isOutOfFeed: true, isSeenByRouters: true, unseenBy: [] });

    running[1]?.signal('SIGSTOP');
    try {
      let isAnswered = false;
      const waiting = cancel(first, 10, 'router').finally(() => {
        isAnswered = true;
      });
      waiting.catch(() => undefined);
      for (let left = 3; left > 0; left -= 1) {
        expect(await cancel(second, 20)).toMatchObject({ isOutOfFeed: true, isSeenByRouters: false, unseenBy: [] });
      }
      expect(await cancel(second, 20, 'router', false)).toMatchObject({ isSeenByRouters: true, unseenBy: [] });
      expect(isAnswered).toBe(false);
      expect(await waiting).toMatchObject({ isOutOfFeed: true, isSeenByRouters: false, unseenBy: ['slow'] });
    } finally {
      running[1]?.signal('SIGCONT');
    }
    await eventually(async () => (await cancel(first, 5, 'router')).isSeenByRouters, true);
  });
}
