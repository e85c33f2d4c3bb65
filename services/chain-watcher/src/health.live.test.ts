import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { topicNames } from '@makerbook/contracts-events';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import { partitionOf } from '@makerbook/kafka';
import { leaveTransactionOpen } from '@makerbook/kafka/testing';
import { testParts } from '@makerbook/parts';
import { NonceManager, Wallet } from 'ethers';
import type { Ops } from './testing/ask-ops.js';
import { type Gate, startGate } from './testing/gate-node.js';
import { runWatcherProcess, type WatcherProcess } from './testing/run-watcher.js';
import { addressOf, Stage, until } from './testing/stage-chain.js';

/** All tests have its chain, and each a log of its own. */
let chain: Stage;
let stage: Stage;
let token: Address;
let watcher: WatcherProcess | undefined;
let gate: Gate | undefined;

beforeAll(async () => {
  chain = await Stage.open();
  token = await chain.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
});
beforeEach(async () => {
  stage = await chain.beside();
});
afterEach(async () => {
  await watcher?.kill();
  watcher = undefined;
  await gate?.close();
  gate = undefined;
  await stage.close();
});
afterAll(() => chain.close());

const run = async (settings: Record<string, string>): Promise<Ops> => {
  const observed = await runWatcherProcess(stage, settings);
  watcher = observed;
  return observed.ops;
};
const isReady = (ops: Ops) => until('it is ready', async () => (await ops.ask('/readyz')).status === 200);
const isAlive = (ops: Ops) => until('it is alive', async () => (await ops.ask('/livez')).status === 200);
const position = (ops: Ops) => ops.check('/readyz', 'position');
const isNotReady = async (ops: Ops, why: RegExp) => {
  await until(`it is not ready: ${why}`, async () => why.test(await position(ops)));
  expect((await ops.ask('/readyz')).status).toBe(503);
};
/** A maker with an address in the partition, or in any. */
const createMaker = (partition?: number): NonceManager => {
  for (;;) {
    const maker = new NonceManager(new Wallet(`0x${randomBytes(32).toString('hex')}`));
    if (partition === undefined || partitionOf(addressOf(maker), 3) === partition) return maker;
  }
};
/** A proxy of the node that lets calls of a method through on demand. */
const holdCalls = async (method: string) => {
  const held: (() => void)[] = [];
  let isOpen = false;
  gate = await startGate(stage.anvil.rpcUrl, async (calls) => {
    if (!isOpen && calls.some((call) => call.method === method)) {
      await new Promise<void>((resolve) => held.push(resolve));
    }
    return undefined;
  });
  const isAsked = () => until('a call is held', () => held.length > 0);
  return {
    url: gate.url,
    isAsked,
    passOne: async () => {
      await isAsked();
      held.shift()?.();
    },
    passAll: () => {
      isOpen = true;
      for (const resolve of held.splice(0)) resolve();
    },
  };
};
const post = async (maker: NonceManager) => stage.submit(await stage.sign(maker, { making: { token, amount: 1n } }));

describe('readiness', () => {
  test('counts down the missed blocks that are followed one by one, and a loop that is stuck at one is found dead', async () => {
    const first = await stage.watch();
    await stage.settled();
    await first.stop();
    await stage.mine(40);
    const held = await holdCalls('eth_getLogs');
    const ops = await run({ RPC_URL: held.url, RPC_TIMEOUT_MS: '60000', LIVE_SILENCE_MS_MAX: '2000' });
    await isNotReady(ops, /^catching up: 40 blocks behind the head$/);
    await until('it is not alive', async () => (await ops.ask('/livez')).status === 503);
    await held.passOne();
    await isNotReady(ops, /^catching up: 39 blocks behind the head$/);
    await held.passOne();
    await isNotReady(ops, /^catching up: 38 blocks behind the head$/);
    held.passAll();
    await isReady(ops);
    await isAlive(ops);
  });

  test('shows how far catching up has come, and so do the metrics; nothing is processed before its end', async () => {
    const makers = Array.from({ length: 300 }, () => createMaker());
    const orders = await Promise.all(makers.map(post));
    const first = await stage.watch();
    await stage.settled();
    await until('all orders are read', () => orders.every((order) => stage.state(order)?.status === 'INACTIVE'));
    await first.stop();
    const before = stage.processedBlock();
    await stage.mine(30);

    const held = await holdCalls('eth_call');
    const ops = await run({ RPC_URL: held.url, RPC_TIMEOUT_MS: '60000', CATCH_UP_BLOCKS_MAX: '10' });
    await isNotReady(ops, /^catching up: 0 of 300 makers read$/);
    expect(await ops.metric('catch_up_ratio')).toBeCloseTo(1 / 2);
    await until('a part of them is read', async () => {
      await held.passOne();
      // Each is asked for when the one before was read.
      await held.isAsked();
      return /^catching up: [1-9]\d* of 300 makers read$/.test(await position(ops));
    });
    const done = Number(/(\d+) of/.exec(await position(ops))?.[1]);
    expect(done).toBeLessThan(300);
    expect(await ops.metric('catch_up_ratio')).toBeCloseTo(1 / 2 + done / 300 / 2);
    expect((await ops.ask('/readyz')).status).toBe(503);
    expect((await ops.ask('/livez')).status).toBe(200);
    expect(stage.processedBlock()).toBe(before);
    held.passAll();
    await isReady(ops);
    expect(await position(ops)).toBe('ok');
    expect(await ops.metric('catch_up_ratio')).toBe(1);
    await stage.settled();
  });
});

describe('a partition that shows nothing new for some time', () => {
  const holdBack = async (partition: number) => {
    const transactionalId = `${stage.prefix}held`;
    const { makerEvents } = topicNames(stage.prefix);
    const record = { topic: makerEvents, partition, key: '', value: Buffer.from('{}'), headers: {} };
    await leaveTransactionOpen([testParts().kafkaBrokers], transactionalId, record, 3);
    return { release: () => stage.log.createFencedPublisher({ transactionalId, timeoutMs: 60_000 }).takeOver() };
  };

  test('holds up its own new orders alone: blocks go on, and so do the other partitions', async () => {
    const ops = await run({ SWEEP_PAIRS_PER_SECOND: '50' });
    await post(createMaker(0));
    await stage.mine();
    await stage.settled();
    await isReady(ops);
    const held = await holdBack(1);
    await stage.mine(2);
    await until('it is seen', async () => (await ops.metric('partition_wait_seconds{partition="1"}')) > 1);
    expect(await ops.metric('partition_wait_seconds{partition="0"}')).toBe(0);
    const order = await post(createMaker(2));
    await until('a new order is read', () => stage.state(order)?.status === 'INACTIVE');
    const waiting = await post(createMaker(1));
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
});
