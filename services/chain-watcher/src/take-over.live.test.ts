import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import { partitionOf } from '@makerbook/kafka';
import { createChance, findFreePort, startKafka } from '@makerbook/parts';
import { isError, type NonceManager } from 'ethers';
import { runObservedWatcher, runWatcherProcess } from './testing/run-watcher.js';
import { addressOf, type SignedOrder, Stage, until } from './testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;
const PROTOCOL = deployArtifacts.LimitOrderProtocol.abi;
const PARTITIONS = 3;

/** Makers in several partitions, each with an order; what they hold changes with every block. */
interface Scene {
  readonly stage: Stage;
  readonly token: Address;
  readonly makers: readonly NonceManager[];
  /** All that were posted. */
  readonly orders: readonly SignedOrder[];
  /** Mines some blocks, each with changes. */
  change(blocks: number): Promise<void>;
  /** So many times, at random: an order is posted, filled in part or in full, cancelled, or an allowance is changed. */
  act(times: number): Promise<void>;
  /** The makers' balances on the chain, by block; kept here, because a node forgets them. */
  readonly held: ReadonlyMap<number, ReadonlyMap<Address, bigint>>;
  /** Settles, and gives the newest block: it is the first one to be looked at. */
  begin(): Promise<number>;
}

async function openScene(brokers?: string): Promise<Scene> {
  const stage = await Stage.open(brokers);
  const token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
  const other = await stage.deploy(deployArtifacts.TestToken, 'Other', 'OTH', 18);
  for (const each of [token, other]) {
    await stage.send(stage.taker, each, ERC20, 'mint', addressOf(stage.taker), 10n ** 30n);
    await stage.send(stage.taker, each, ERC20, 'approve', stage.protocolAddress, 10n ** 30n);
  }
  const makers: NonceManager[] = [];
  const orders: SignedOrder[] = [];
  for (let n = 0; n < 5; n += 1) {
    const maker = await stage.createAccount();
    makers.push(maker);
    await stage.send(maker, token, ERC20, 'approve', stage.protocolAddress, 10n ** 30n);
    await stage.send(maker, other, ERC20, 'approve', stage.protocolAddress, 10n ** 30n);
    await stage.send(stage.taker, other, ERC20, 'mint', addressOf(maker), 600n);
    const order = await stage.sign(maker, { making: { token, amount: 1000n } });
    await stage.submit(order);
    orders.push(order);
  }
  const { below } = createChance(makers.length);
  const held = new Map<number, ReadonlyMap<Address, bigint>>();
  const note = async () => {
    const accounts = makers.map(addressOf);
    const balances = await Promise.all(accounts.map((maker) => stage.balanceOf(token, maker)));
    const byMaker = new Map(accounts.map((maker, n) => [maker, balances[n] ?? 0n]));
    held.set(await stage.provider.getBlockNumber(), byMaker);
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
  /** Filled or cancelled, as nothing happens to an order after that; and the first ones, so that the pairs of `held` stay watched. */
  const over = new Set<SignedOrder>(orders);
  const post = async (by: NonceManager, beforehand?: (order: SignedOrder) => Promise<void>) => {
    // Sells either token: some pairs are watched already, others are new.
    const [making, taking] = below(2) === 0 ? [token, other] : [other, token];
    // The makers' balances cover most of these amounts, and not all.
    const amount = BigInt(1 + below(below(3) === 0 ? 1200 : 100));
    const order = await stage.sign(by, { making: { token: making, amount }, taking: { token: taking, amount: 1n } });
    await beforehand?.(order);
    orders.push(order);
    await stage.submit(order);
  };
  const cancel = async (by: NonceManager, signed: SignedOrder) => {
    over.add(signed);
    await stage.send(by, stage.protocolAddress, PROTOCOL, 'cancelOrder', signed.order);
    await note();
  };
  const fill = async (signed: SignedOrder) => {
    const { order, signature, orderHash } = signed;
    const filled: bigint = await stage.read(stage.protocolAddress, PROTOCOL, 'filled', orderHash);
    const left = order.making.amount - filled;
    const part = below(2) === 0 ? left : 1n + left / 3n;
    const args = [order, signature, part, 1n] as const;
    try {
      await stage.send(stage.taker, stage.protocolAddress, PROTOCOL, 'fillOrder', ...args);
      if (part === left) over.add(signed);
    } catch (error) {
      // The maker's funds will not do: a block of its own that changes nothing.
      if (!isError(error, 'CALL_EXCEPTION')) throw error;
    }
    await note();
  };
  const act = async (times: number) => {
    for (let n = 0; n < times; n += 1) {
      const maker = makers[below(makers.length)] as NonceManager;
      const open = orders.filter((each) => each.order.maker === addressOf(maker) && !over.has(each));
      const one = open[below(Math.max(1, open.length))];
      const what = below(10);
      if (what < 3 || one === undefined) await post(maker);
      else if (what < 5) await post(maker, (order) => (below(2) === 0 ? cancel(maker, order) : fill(order)));
      else if (what === 5) await cancel(maker, one);
      else if (what < 8) await fill(one);
      else {
        const allowance = below(2) === 0 ? BigInt(below(1200)) : 10n ** 30n;
        await stage.send(maker, one.order.making.token, ERC20, 'approve', stage.protocolAddress, allowance);
        await note();
      }
    }
  };
  const begin = async () => {
    // The orders were read after the first block of the log was processed: from the next one on all is known.
    await change(1);
    await stage.settled();
    return stage.provider.getBlockNumber();
  };
  return { stage, token, makers, orders, change, act, held, begin };
}

const ordersAreRead = ({ stage, orders }: Scene) =>
  until('the orders are read', () => orders.every(({ orderHash }) => stage.state(orderHash)?.status === 'INACTIVE'));

/** After some more blocks, the log agrees with the chain on every order, and on the funds that it depends on. */
async function assertOrdersAgree({ stage, orders, change }: Scene): Promise<void> {
  for (let blocks = 0; blocks < 3; blocks += 1) {
    await change(1);
    await stage.settled();
  }
  const byChain: string[] = [];
  for (const each of orders) byChain.push(await sayOfChain(stage, each));
  const byLog = orders.map((each) => sayOfLog(stage, each));
  expect(byLog).toEqual(byChain);
  // None of them was idle: so many of each.
  for (const what of ['ACTIVE', 'INSUFFICIENT_', 'FILLED', 'CANCELLED_ONCHAIN']) {
    expect(byChain.filter((said) => said.startsWith(what)).length).toBeGreaterThan(0);
  }
}

/** The order's state from the contracts alone. Nobody cancels all orders, and none expires here. */
async function sayOfChain(stage: Stage, { order, orderHash }: SignedOrder): Promise<string> {
  const { maker, making } = order;
  const filled: bigint = await stage.read(stage.protocolAddress, PROTOCOL, 'filled', orderHash);
  if (await stage.read(stage.protocolAddress, PROTOCOL, 'cancelled', orderHash)) return 'CANCELLED_ONCHAIN';
  if (filled === making.amount) return 'FILLED';
  const allowance: bigint = await stage.read(making.token, ERC20, 'allowance', maker, stage.protocolAddress);
  const balance = await stage.balanceOf(making.token, maker);
  const left = making.amount - filled;
  const state = allowance < left ? 'INSUFFICIENT_ALLOWANCE' : balance < left ? 'INSUFFICIENT_BALANCE' : 'ACTIVE';
  return `${state} ${left} of ${allowance} and ${balance}`;
}

function sayOfLog(stage: Stage, { orderHash }: SignedOrder): string {
  const state = stage.state(orderHash);
  const said = state !== undefined && 'reason' in state ? state.reason : `${state?.status}`;
  if (state?.status === 'REMOVED') return said;
  const funding = stage.funding(orderHash);
  return `${said} ${stage.remaining(orderHash)} of ${funding?.allowance} and ${funding?.balance}`;
}

/**
 * Every block is in every partition, in order, and with it the log holds of each maker's balance
 * what the chain says at that block.
 */
async function assertNothingLost({ stage, token, makers, held }: Scene, from: number): Promise<void> {
  const head = await stage.provider.getBlockNumber();
  const wanted = Array.from({ length: head - from + 1 }, (_, n) => from + n);
  for (let partition = 0; partition < PARTITIONS; partition += 1) {
    const mine = makers.map(addressOf).filter((maker) => partitionOf(maker, PARTITIONS) === partition);
    const balances = new Map<Address, { readonly value: bigint; readonly block: number }>();
    const blocks: number[] = [];
    let processed = -1;
    for (const { fact, partition: at } of stage.facts) {
      if (at !== partition) continue;
      if ('block' in fact) {
        // Whoever publishes knows all that is in the log: nothing in it is of an older block.
        const { number } = fact.block;
        expect({ partition, after: processed, number }).toEqual({
          partition,
          after: processed,
          number: Math.max(processed, number),
        });
      }
      if (fact.type === 'MakerObserved') {
        const funds = fact.funds.find((each) => each.token === token);
        const { number: block } = fact.block;
        if (funds !== undefined) balances.set(fact.maker, { value: BigInt(funds.balance), block });
      }
      if (fact.type !== 'BlockProcessed' || fact.block.number === processed) continue;
      processed = fact.block.number;
      if (processed < from) continue;
      blocks.push(processed);
      for (const maker of mine) {
        const known = balances.get(maker);
        // A new order may have been read at a later block already.
        if (known !== undefined && known.block > processed) continue;
        const where = { partition, block: processed, maker };
        expect({ ...where, balance: known?.value }).toEqual({ ...where, balance: held.get(processed)?.get(maker) });
      }
    }
    expect({ partition, blocks }).toEqual({ partition, blocks: wanted });
  }
}

type Observed = Awaited<ReturnType<typeof runObservedWatcher>>;

describe('of two watchers under load', () => {
  let scene: Scene;
  const watchers = new Set<Observed>();
  beforeAll(async () => {
    scene = await openScene();
  });
  afterAll(async () => {
    for (const watcher of watchers) await watcher.kill();
    await scene.stage.close();
  });

  const start = async () => {
    const watcher = await runObservedWatcher(scene.stage, {
      TAKEOVER_MS: '2000',
      // Blocks come by the dozen here, and each is looked at.
      CATCH_UP_BLOCKS_MAX: '100000',
      STATE_BLOCKS_MAX: '100000',
    });
    watchers.add(watcher);
    return watcher;
  };
  const holds = async (watcher: Observed) => (await watcher.ops.metric('holders')) === 1;
  const isStandby = async (watcher: Observed) => (await watcher.ops.check('/readyz', 'role')) === 'standby';
  /** The holder and its standby, both ready. */
  const roles = async (): Promise<{ holder: Observed; standby: Observed }> => {
    const found: { holder?: Observed; standby?: Observed } = {};
    await until('one publishes and one is a standby', async () => {
      for (const watcher of watchers) {
        if (await holds(watcher)) found.holder = watcher;
        else if (await isStandby(watcher)) found.standby = watcher;
      }
      return found.holder !== undefined && found.standby !== undefined;
    });
    return found as { holder: Observed; standby: Observed };
  };
  /** Puts the holder out of action while orders and transfers go on. Returns for how long the log had no new block. */
  const takeOverAfter = async (disturb: (holder: Observed) => Promise<void>): Promise<number> => {
    const { holder } = await roles();
    await scene.change(1);
    await scene.stage.settled();
    const published = scene.stage.processedBlock();
    await disturb(holder);
    // It is gone: no block is mined before.
    const atMs = Date.now();
    let isOver = false;
    const load = (async () => {
      while (!isOver) await scene.act(1);
    })();
    await until('the other one publishes', () => scene.stage.processedBlock() > published);
    const tookMs = Date.now() - atMs;
    isOver = true;
    await load;
    return tookMs;
  };

  test('the other one takes over within seconds where the holder is killed, stops, or is frozen and goes on', async () => {
    await start();
    await until('the first one publishes', async () => holds([...watchers][0] as Observed));
    await start();
    await ordersAreRead(scene);
    const from = await scene.begin();
    const tookMs: Record<string, number> = {};
    tookMs['killed'] = await takeOverAfter(async (holder) => {
      watchers.delete(holder);
      await holder.kill();
    });
    await start();
    let frozen: Observed | undefined;
    tookMs['frozen'] = await takeOverAfter(async (holder) => {
      frozen = holder;
      holder.freeze();
    });
    await scene.act(3);
    frozen?.goOn();
    await scene.act(3);
    await until('it is a standby', () => isStandby(frozen as Observed));
    let ending: Promise<void> | undefined;
    const resignations = () => scene.stage.facts.filter(({ fact }) => fact.type === 'WatcherResigned').length;
    const resignedBefore = resignations();
    tookMs['stopped'] = await takeOverAfter(async (holder) => {
      watchers.delete(holder);
      ending = holder.terminate();
      await until('it has resigned', () => resignations() > resignedBefore);
    });
    await ending;
    console.log(`the log had no new block for so many milliseconds: ${JSON.stringify(tookMs)}`);
    await scene.act(25);
    await scene.stage.settled();
    await assertOrdersAgree(scene);
    await assertNothingLost(scene, from);
    // Many times what is wanted (5 s, and at once), as the machine may be slow.
    expect(Math.max(...Object.values(tookMs))).toBeLessThan(30_000);
    expect(tookMs['stopped']).toBeLessThan(3000);
  }, 420_000);
});

describe('the only watcher', () => {
  test('killed as soon as anything of a block is in the log, goes on where it was', async () => {
    const scene = await openScene();
    const { stage, change, act } = scene;
    const ofBlocks = () => stage.facts.filter(({ fact }) => 'block' in fact).length;
    let process = runWatcherProcess(stage);
    try {
      await ordersAreRead(scene);
      const from = await scene.begin();
      await process.kill();
      for (let round = 0; round < 4; round += 1) {
        const before = ofBlocks();
        process = runWatcherProcess(stage);
        await change(4);
        await act(4);
        await until('something of a block is in the log', () => ofBlocks() > before);
        await process.kill();
        await act(2);
      }
      await change(2);
      process = runWatcherProcess(stage);
      await stage.settled();
      await assertOrdersAgree(scene);
      await assertNothingLost(scene, from);
    } finally {
      await process.kill();
      await stage.close();
    }
  }, 420_000);
});

describe('Kafka, killed under a running watcher', () => {
  test('and started again: the blocks of the time between are in the log, none is missing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'makerbook-watcher-'));
    const options = { dataDir: join(folder, 'data'), port: await findFreePort() };
    let kafka = await startKafka(options);
    const scene = await openScene(kafka.brokers);
    const { stage, change } = scene;
    const watcher = await stage.watch({ KAFKA_TIMEOUT_MS: '3000' });
    try {
      await ordersAreRead(scene);
      const from = await scene.begin();
      await change(3);
      kafka.kill('SIGKILL');
      await kafka.stop();
      await change(5);
      kafka = await startKafka(options);
      await change(2);
      await stage.settled();
      await assertNothingLost(scene, from);
    } finally {
      await watcher.stop();
      await stage.close();
      await kafka.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  }, 420_000);
});
