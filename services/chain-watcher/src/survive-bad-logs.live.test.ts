import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { deployArtifacts, eventTopics } from '@makerbook/contracts-evm';
import type { Address } from '@makerbook/contracts-primitives';
import type { NonceManager } from 'ethers';
import type { Watcher } from './run.js';
import { type AskedCall, type Gate, type Misbehaviour, startMisbehavingNode } from './testing/gate-node.js';
import { addressOf, type SignedOrder, Stage, until } from './testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;
const PROTOCOL = deployArtifacts.LimitOrderProtocol.abi;
const CANCELLED = { status: 'REMOVED', reason: 'CANCELLED_ONCHAIN' };

let stage: Stage;
let gate: Gate;
let token: Address;
let maker: NonceManager;
let watcher: Watcher | undefined;
const honest: Misbehaviour = (calls, forward) => forward(calls);
let answer: Misbehaviour = honest;

beforeAll(async () => {
  stage = await Stage.open();
  token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
  maker = await stage.createAccount();
  await stage.send(maker, token, ERC20, 'approve', stage.protocolAddress, 10n ** 30n);
  await stage.send(stage.taker, token, ERC20, 'mint', addressOf(maker), 10n ** 30n);
  gate = await startMisbehavingNode(stage.anvil.rpcUrl, (calls, forward) => answer(calls, forward));
});
afterEach(async () => {
  answer = honest;
  await stop();
});
afterAll(async () => {
  await gate?.close();
  await stage?.close();
});

const stop = async () => {
  await watcher?.stop();
  watcher = undefined;
};
const watch = async (settings: Record<string, string> = {}) => {
  watcher = await stage.watch({ RPC_URL: gate.url, ...settings });
};
/** An order that is open, and taken for read. */
const openOrder = async (): Promise<SignedOrder> => {
  const signed = await stage.sign(maker, { making: { token, amount: 100n } });
  await stage.submit(signed);
  await until('it is read', () => stage.state(signed.orderHash)?.status === 'ACTIVE');
  await stage.mine(2);
  await stage.settled();
  return signed;
};
const cancel = ({ order }: SignedOrder) => stage.send(maker, stage.protocolAddress, PROTOCOL, 'cancelOrder', order);

describe('a long catch-up by a node that does not answer', () => {
  const MISSED = 1000;
  const TIMEOUT_MS = 2000;
  const settings = { CATCH_UP_BLOCKS_MAX: '10', RPC_TIMEOUT_MS: String(TIMEOUT_MS), POLL_INTERVAL_MS: '60000' };
  const blocksOf = ({ method, params }: AskedCall): number | undefined => {
    const { fromBlock, toBlock } = (params[0] ?? {}) as { fromBlock?: string; toBlock?: string };
    if (method !== 'eth_getLogs' || fromBlock === undefined) return undefined;
    return Number(toBlock) - Number(fromBlock) + 1;
  };
  /** A watcher is away for many blocks: in the first and in the last of them an order is cancelled. */
  const miss = async (): Promise<readonly SignedOrder[]> => {
    await watch();
    const orders = [await openOrder(), await openOrder()];
    await stop();
    for (const order of orders) {
      await cancel(order);
      await stage.mine(MISSED / 2);
    }
    return orders;
  };
  const catchesUp = async (orders: readonly SignedOrder[]) => {
    await stage.settled();
    expect(orders.map(({ orderHash }) => stage.state(orderHash))).toEqual([CANCELLED, CANCELLED]);
  };

  test('in time where it is asked for the logs of many blocks: it is asked for fewer', async () => {
    const orders = await miss();
    const asked: number[] = [];
    answer = async (calls, forward) => {
      const [blocks] = calls.flatMap((call) => blocksOf(call) ?? []);
      if (blocks !== undefined) asked.push(blocks);
      if (blocks !== undefined && blocks > 200) await new Promise((resolve) => setTimeout(resolve, 5 * TIMEOUT_MS));
      return forward(calls);
    };
    await watch(settings);
    await catchesUp(orders);
    // It does not go back to what failed with each range.
    expect(asked.filter((blocks) => blocks > 200).length).toBeLessThanOrEqual(5);
    expect(asked.length).toBeLessThan(20);
  });

  test('for some time, whatever it is asked: then it is asked for many blocks again', async () => {
    const orders = await miss();
    const asked: number[] = [];
    let isAway = false;
    let refused = 0;
    answer = async (calls, forward) => {
      const [blocks] = calls.flatMap((call) => blocksOf(call) ?? []);
      if (blocks !== undefined && asked.push(blocks) === 1) isAway = true;
      if (!isAway) return forward(calls);
      refused += 1;
      return { status: 504 };
    };
    await watch(settings);
    await until('it is refused', () => refused > 0);
    await Promise.all([
      new Promise((resolve) => setTimeout(resolve, 5000)),
      until('it is asked again and again', () => refused > 3),
    ]);
    // No more often than the pauses between the tries allow.
    expect(refused).toBeLessThan(20);
    isAway = false;
    const tries = asked.length;
    await catchesUp(orders);
    const since = asked.slice(tries);
    expect(Math.max(...since)).toBeGreaterThan(200);
    expect(since.length).toBeLessThan(15);
  });
});

describe('a node that gives wrong logs of a block', () => {
  const CANCEL_TOPIC = eventTopics.orderCancelled.slice(2);
  let spoiled = 0;
  /** In the place of the logs of a block in which an order is cancelled. */
  const spoilOnce = (wrong: unknown): Misbehaviour => {
    spoiled = 0;
    return async (calls, forward) => {
      const answers = await forward(calls);
      return answers.map((each) => {
        const isThem = calls.some(({ id, method }) => id === each.id && method === 'eth_getLogs');
        if (spoiled > 0 || !isThem || !JSON.stringify(each.result).includes(CANCEL_TOPIC)) return each;
        spoiled += 1;
        return { ...each, result: wrong };
      });
    };
  };

  test.each([
    ['none at all', async () => []],
    [
      'those of another block',
      async () => {
        const other = await openOrder();
        await cancel(other);
        const head = await stage.provider.getBlockNumber();
        await stage.settled();
        const range = { fromBlock: `0x${head.toString(16)}`, toBlock: `0x${head.toString(16)}` };
        return stage.provider.send('eth_getLogs', [range]);
      },
    ],
  ])('%s: it is asked again, and nothing is missed', async (_what, wrong) => {
    await watch();
    const order = await openOrder();
    answer = spoilOnce(await wrong());
    await cancel(order);
    await stage.settled();
    expect(spoiled).toBe(1);
    expect(stage.state(order.orderHash)).toEqual(CANCELLED);
  });
});
