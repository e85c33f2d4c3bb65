import { expect, test } from '@jest/globals';
import { topicNames } from '@makerbook/contracts-events';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import { leaveTransactionOpen } from '@makerbook/kafka/testing';
import { testParts, until } from '@makerbook/parts';
import type { Ops } from './testing/ask-ops.js';
import { eachOnAStage } from './testing/each-on-a-stage.js';
import type { Stage } from './testing/stage-chain.js';

let stage: Stage;
let token: Address;
const { run, watch, holdCalls } = eachOnAStage(
  (own) => {
    stage = own;
  },
  async (chain) => {
    token = await chain.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
  },
);

const isReady = (ops: Ops) => until('it is ready', async () => (await ops.ask('/readyz')).status === 200);
const isAlive = (ops: Ops) => until('it is alive', async () => (await ops.ask('/livez')).status === 200);
const isNotReady = async (ops: Ops, why: RegExp) => {
  await until(`it is not ready: ${why}`, async () => why.test(await ops.check('/readyz', 'position')));
  expect((await ops.ask('/readyz')).status).toBe(503);
};
const post = async (partition: number) =>
  stage.submit(await stage.sign(await stage.createAccount(partition), { making: { token, amount: 1n } }));

test('readiness counts down the missed blocks, and a loop that is stuck at one of them is not alive', async () => {
  const first = await watch();
  await stage.settled();
  await first.stop();
  await stage.mine(40);
  const held = await holdCalls('eth_getLogs');
  held.hold();
  const { ops } = await run({ RPC_URL: held.url, RPC_TIMEOUT_MS: '60000', LIVE_SILENCE_MS_MAX: '2000' });
  await isNotReady(ops, /^catching up: 40 blocks behind the head$/);
  expect(await ops.metric('catch_up_ratio')).toBeLessThan(1);
  await until('it is not alive', async () => (await ops.ask('/livez')).status === 503);
  // The first call is for fills that the previous watcher may have missed.
  await held.passOne();
  await held.passOne();
  await isNotReady(ops, /^catching up: 39 blocks behind the head$/);
  await held.passOne();
  await isNotReady(ops, /^catching up: 38 blocks behind the head$/);
  held.passAll();
  await isReady(ops);
  await isAlive(ops);
  expect(await ops.metric('catch_up_ratio')).toBe(1);
});

const holdBack = async (partition: number) => {
  const transactionalId = `${stage.prefix}held`;
  const { makerEvents } = topicNames(stage.prefix);
  const record = { topic: makerEvents, partition, key: '', value: Buffer.from('{}'), headers: {} };
  await leaveTransactionOpen([testParts().kafkaBrokers], transactionalId, record);
  return { release: () => stage.log.createFencedPublisher({ transactionalId, timeoutMs: 60_000 }).takeOver() };
};

test('a stuck partition holds up only its own new orders: blocks and the other partitions go on', async () => {
  const { ops } = await run({ SWEEP_PAIRS_PER_SECOND: '50' });
  await post(0);
  await stage.mine();
  await stage.settled();
  await isReady(ops);
  const held = await holdBack(1);
  await stage.mine(2);
  await until('it is seen', async () => (await ops.metric('partition_wait_seconds{partition="1"}')) > 1);
  expect(await ops.metric('partition_wait_seconds{partition="0"}')).toBe(0);
  const order = await post(2);
  await until('a new order is read', () => stage.state(order)?.status === 'INACTIVE');
  const waiting = await post(1);
  await stage.mine(3);
  const head = await stage.provider.getBlockNumber();
  await until('the blocks go on', async () => (await ops.metric('processed_block_number')) === head);
  await isReady(ops);
  await isAlive(ops);

  await held.release();
  await stage.settled();
  await until('it is read', () => stage.state(waiting)?.status === 'INACTIVE');
  await until('it waits no more', async () => (await ops.metric('partition_wait_seconds{partition="1"}')) === 0);
});
