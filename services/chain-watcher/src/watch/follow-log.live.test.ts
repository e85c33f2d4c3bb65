import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { encodeMakerEvent, type MakerEvent, topicNames } from '@makerbook/contracts-events';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import { orderToBody } from '@makerbook/domain';
import { partitionOf } from '@makerbook/kafka';
import { deleteRecords } from '@makerbook/parts';
import type { Watcher } from '../run.js';
import { type SignedOrder, Stage, until } from '../testing/stage-chain.js';

let stage: Stage;
let token: Address;
let watcher: Watcher | undefined;

beforeEach(async () => {
  stage = await Stage.open();
  token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
});
afterEach(async () => {
  await stop();
  await stage?.close();
});

const stop = async () => {
  await watcher?.stop();
  watcher = undefined;
};
const signOne = async (): Promise<SignedOrder> =>
  stage.sign(await stage.createAccount(), { making: { token, amount: 100n } });
const submissionOf = ({ order, orderHash, signature }: SignedOrder): MakerEvent => ({
  type: 'OrderSubmitted',
  maker: order.maker,
  orderHash,
  order: orderToBody(order),
  signature,
  acceptedAtMs: 0,
  cause: { kind: 'request', requestId: 'test' },
});
const appendTo = async (partition: number, fact: MakerEvent, id: string, key: string) => {
  const message = encodeMakerEvent(fact, { id, source: '/test', timeMs: 0 });
  const { makerEvents: topic } = topicNames(stage.prefix);
  await stage.log.createAppender({ timeoutMs: 60_000 }).append([{ topic, partition, ...message, key }]);
};

describe('facts that are not where they belong', () => {
  test('are left out, as they are by the projector, and harm no other order', async () => {
    watcher = await stage.watch();
    const [astray, foreign, good] = [await signOne(), await signOne(), await signOne()];
    const home = partitionOf(astray.order.maker, 3);
    // A key of one order in the wrong partition, and its end there; and an order under another maker's name.
    const wrong = (home + 1) % 3;
    await appendTo(wrong, submissionOf(astray), 'astray', astray.order.maker);
    const { maker } = good.order;
    await appendTo(partitionOf(maker, 3), { ...submissionOf(foreign), maker } as MakerEvent, 'foreign', maker);
    await stage.mine(2);
    await stage.settled();
    await appendTo(
      wrong,
      {
        type: 'OrderCancelled',
        expiresAtSeconds: 4_000_000_000,
        maker: astray.order.maker,
        orderHash: astray.orderHash,
        cause: { kind: 'request', requestId: 'test' },
      },
      'end',
      astray.order.maker,
    );
    await stage.submit(good);
    await until('the good one is read', () => stage.state(good.orderHash)?.status === 'INACTIVE');
    await stage.mine(3);
    await stage.settled();
    const named = stage.facts.flatMap(({ fact }) => (fact.type === 'MakerObserved' ? fact.orders : []));
    expect(named.map(({ orderHash }) => orderHash)).toEqual([good.orderHash]);
    await expect(Promise.race([watcher.failed, Promise.resolve('goes on')])).resolves.toBe('goes on');
  });
});

describe('a log of which the beginning is gone', () => {
  const goneBefore = (offset: bigint, partition = 1) =>
    deleteRecords(
      stage.brokers,
      topicNames(stage.prefix).makerEvents,
      [0, 1, 2].map((each) => (each === partition ? offset : 0n)),
    );
  const publishBlocks = async () => {
    watcher = await stage.watch();
    for (let n = 0; n < 4; n += 1) {
      await stage.mine();
      await stage.settled();
    }
    await stop();
  };
  test('halts the watcher where it is wanted, as there are no rows', async () => {
    await publishBlocks();
    await goneBefore(3n);
    watcher = await stage.watch();
    const withoutRows = (await watcher.failed) as Error;
    expect([withoutRows.name, withoutRows.message]).toEqual([
      'LogContradiction',
      expect.stringMatching(/maker-events.v1\/1 is stored from offset 3 on, and 0 is wanted/),
    ]);
  });
});
