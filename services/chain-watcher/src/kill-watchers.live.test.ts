import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type Address, deployArtifacts, type Hex } from '@makerbook/contracts-evm';
import { partitionOf } from '@makerbook/kafka';
import { findFreePort, startKafka } from '@makerbook/local-stack';
import type { NonceManager } from 'ethers';
import type { Watcher } from './run.js';
import { runWatcherProcess, type WatcherProcess } from './testing/run-watcher.js';
import { addressOf, Stage, until } from './testing/stage-chain.js';
import { createChance } from './testing/write-history.js';

const ERC20 = deployArtifacts.TestToken.abi;
const PARTITIONS = 3;
/**
 * anvil answers a read of its newest block, by hash or not, with the state after the next one where that is mined in the
 * same instant; a node of Kaia does not. A pause between blocks lets reads end.
 */
const BLOCK_PAUSE_MS = 40;

/** Makers in several partitions, each with an order; what they hold changes with every block. */
interface Scene {
  readonly stage: Stage;
  readonly token: Address;
  readonly makers: readonly NonceManager[];
  readonly orders: readonly Hex[];
  /** Mines some blocks, each with changes. */
  change(blocks: number): Promise<void>;
  /** What the makers hold by the chain, by block; kept here, as a node forgets it. */
  readonly held: ReadonlyMap<number, ReadonlyMap<Address, bigint>>;
  /** Settles, and gives the newest block: it is the first one to be looked at. */
  begin(): Promise<number>;
}

async function openScene(brokers?: string): Promise<Scene> {
  const stage = await Stage.open(brokers);
  const token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
  const makers: NonceManager[] = [];
  const orders: Hex[] = [];
  for (let n = 0; n < 5; n += 1) {
    const maker = await stage.createAccount();
    makers.push(maker);
    await stage.send(maker, token, ERC20, 'approve', stage.protocolAddress, 10n ** 30n);
    orders.push(await stage.submit(await stage.sign(maker, { making: { token, amount: 1000n } })));
  }
  const below = createChance(makers.length);
  const held = new Map<number, ReadonlyMap<Address, bigint>>();
  const note = async () => {
    const accounts = makers.map(addressOf);
    const balances = await Promise.all(accounts.map((maker) => stage.balanceOf(token, maker)));
    const byMaker = new Map(accounts.map((maker, n) => [maker, balances[n] ?? 0n]));
    held.set(await stage.provider.getBlockNumber(), byMaker);
    await new Promise((resolve) => setTimeout(resolve, BLOCK_PAUSE_MS));
  };
  const change = async (blocks: number) => {
    for (let n = 0; n < blocks; n += 1) {
      const maker = makers[below(makers.length)] as NonceManager;
      await stage.send(stage.taker, token, ERC20, 'mint', addressOf(maker), BigInt(1 + below(400)));
      await note();
      if (below(3) > 0) continue;
      await stage.send(maker, token, ERC20, 'transfer', addressOf(stage.taker), 1n);
      await note();
    }
  };
  const begin = async () => {
    await note();
    await stage.settled();
    return stage.provider.getBlockNumber();
  };
  return { stage, token, makers, orders, change, held, begin };
}

const ordersAreRead = ({ stage, orders }: Scene) =>
  until('the orders are read', () => orders.every((order) => stage.state(order)?.status === 'INACTIVE'));

/**
 * Where a block first stands in a partition, every block before it does, and the log says of each maker's balance what
 * the chain says at that block.
 */
async function assertNothingLost({ stage, makers, held }: Scene, from: number): Promise<void> {
  const head = await stage.provider.getBlockNumber();
  const wanted = Array.from({ length: head - from + 1 }, (_, n) => from + n);
  for (let partition = 0; partition < PARTITIONS; partition += 1) {
    const mine = makers.map(addressOf).filter((maker) => partitionOf(maker, PARTITIONS) === partition);
    const balances = new Map<Address, { readonly value: bigint; readonly block: number }>();
    const firsts: number[] = [];
    for (const { fact, partition: at } of stage.facts) {
      if (at !== partition) continue;
      if (fact.type === 'BalanceChanged' && fact.block.number >= (balances.get(fact.maker)?.block ?? 0)) {
        balances.set(fact.maker, { value: BigInt(fact.balance), block: fact.block.number });
      }
      if (fact.type !== 'BlockProcessed' || fact.block.number < from || firsts.includes(fact.block.number)) continue;
      firsts.push(fact.block.number);
      for (const maker of mine) {
        const known = balances.get(maker);
        // A new order may have been read at a later block already.
        if (known !== undefined && known.block > fact.block.number) continue;
        const balance = held.get(fact.block.number)?.get(maker);
        const where = { partition, block: fact.block.number, maker };
        expect({ ...where, balance: known?.value }).toEqual({ ...where, balance });
      }
    }
    expect({ partition, blocks: firsts }).toEqual({ partition, blocks: wanted });
  }
}

/** Whoever wrote it, and how often: what has the same id is the same message. */
function assertOneMessagePerId({ facts }: Stage): void {
  const known = new Map<string, string>();
  for (const { id, bytes } of facts) {
    if (id.includes(':')) expect(bytes).toBe(known.get(id) ?? bytes);
    known.set(id, bytes);
  }
}

describe('watchers that are killed', () => {
  let scene: Scene;
  let steady: Watcher | undefined;
  let process: WatcherProcess | undefined;
  beforeAll(async () => {
    scene = await openScene();
  });
  afterEach(async () => {
    await process?.kill();
    await steady?.stop();
    process = undefined;
    steady = undefined;
  });
  afterAll(() => scene.stage.close());

  test('one of two over and over: every block stands in each partition, in order, with what the chain says', async () => {
    const { stage, change } = scene;
    const below = createChance(1);
    steady = await stage.watch();
    await ordersAreRead(scene);
    const from = await scene.begin();
    for (let round = 0; round < 6; round += 1) {
      process = runWatcherProcess(stage);
      const deadline = Date.now() + 1000 + below(1500);
      while (Date.now() < deadline) {
        await change(1);
        await stage.settled();
      }
      await process.kill();
      await change(2);
    }
    await stage.settled();
    await assertNothingLost(scene, from);
    assertOneMessagePerId(stage);
  }, 180_000);

  test('the only one, as soon as anything of a block is in the log', async () => {
    const { stage, change } = scene;
    process = runWatcherProcess(stage);
    const from = await scene.begin();
    await process.kill();
    for (let round = 0; round < 5; round += 1) {
      const one = runWatcherProcess(stage);
      process = one;
      await change(4);
      const before = stage.facts.length;
      await until('something of a block is in the log', () => stage.facts.length > before);
      await one.kill();
    }
    await change(2);
    process = runWatcherProcess(stage);
    await stage.settled();
    await assertNothingLost(scene, from);
  }, 180_000);
});

describe('Kafka, killed under a running watcher', () => {
  test('and started again: the blocks of the time between stand in the log, none is missing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'makerbook-watcher-'));
    const options = { dataDir: join(folder, 'data'), port: await findFreePort() };
    let kafka = await startKafka(options);
    const scene = await openScene(kafka.brokers);
    const { stage, change } = scene;
    const watcher = await stage.watch({ KAFKA_TIMEOUT_MS: '1000' });
    try {
      await ordersAreRead(scene);
      const from = await scene.begin();
      for (let round = 0; round < 2; round += 1) {
        await change(3);
        kafka.kill('SIGKILL');
        await kafka.stop();
        await change(5);
        kafka = await startKafka(options);
        await change(2);
        await stage.settled();
      }
      await assertNothingLost(scene, from);
    } finally {
      await watcher.stop();
      await stage.close();
      await kafka.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  }, 180_000);
});
