import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { NonceManager } from 'ethers';
import type { Watcher } from './run.js';
import { type AskedCall, type Gate, startGate } from './testing/gate-node.js';
import { addressOf, type SignedOrder, Stage, until } from './testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;

let stage: Stage;
let gate: Gate;
let maker: NonceManager;
let token: Address;
let watcher: Watcher | undefined;
/** While held, no value is read from the chain. */
let held: { readonly until: Promise<void>; readonly release: () => void } | undefined;
let reads = 0;
/** Blocks further behind the head than this are forgotten by the node. */
let remembered = Number.POSITIVE_INFINITY;

const blockOf = async ({ params }: AskedCall): Promise<number> => {
  const { blockHash } = params[1] as { blockHash: string };
  return (await stage.provider.getBlock(blockHash))?.number ?? -1;
};

beforeAll(async () => {
  stage = await Stage.open();
  token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
  gate = await startGate(stage.anvil.rpcUrl, async (calls) => {
    const reading = calls.filter(({ method }) => method === 'eth_call');
    reads += reading.length;
    if (reading.length === 0) return undefined;
    await held?.until;
    const head = await stage.provider.getBlockNumber();
    for (const call of reading) {
      if (head - (await blockOf(call)) > remembered) return { code: -32000, message: 'missing trie node' };
    }
    return undefined;
  });
});
afterEach(async () => {
  held?.release();
  held = undefined;
  remembered = Number.POSITIVE_INFINITY;
  await watcher?.stop();
  watcher = undefined;
});
afterAll(async () => {
  await gate?.close();
  await stage?.close();
});

const hold = () => {
  let release: () => void = () => undefined;
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  held = { until, release };
};
const watch = async (settings: Record<string, string> = {}) => {
  watcher = await stage.watch({ RPC_URL: gate.url, ...settings });
  await stage.settled();
};
/** A maker with so much of the token, and an order for 10 of it. */
const openMaker = async (amount: bigint): Promise<SignedOrder> => {
  maker = await stage.createAccount();
  await stage.send(maker, token, ERC20, 'approve', stage.protocolAddress, 10n ** 30n);
  await mint(amount);
  return stage.sign(maker, { making: { token, amount: 10n } });
};
/** A maker with an order that is ACTIVE and uses all of its balance. */
const openActive = async (): Promise<SignedOrder> => {
  const signed = await openMaker(10n);
  await stage.submit(signed);
  await reaches(signed.orderHash, 'ACTIVE');
  return signed;
};
/** Spends something, and lets nothing be read of the block in which it happens. Gives how many readings there were before. */
const spendUnread = async (): Promise<number> => {
  hold();
  const before = reads;
  await spend(1n);
  await readsMore(before);
  return before;
};
const mint = (amount: bigint) => stage.send(stage.taker, token, ERC20, 'mint', addressOf(maker), amount);
const spend = (amount: bigint) => stage.send(maker, token, ERC20, 'transfer', addressOf(stage.taker), amount);
const reaches = (orderHash: Hex, status: string) =>
  until(`${orderHash} is ${status}`, () => stage.state(orderHash)?.status === status);
const lastStates = (orderHash: Hex, count: number) =>
  stage
    .states(orderHash)
    .map(({ status }) => status)
    .slice(-count);
const readsMore = async (than: number) => until('values are asked for', () => reads > than);

describe('while a block is being read', () => {
  test('a new order waits, so that no order is judged by values of two blocks', async () => {
    await watch();
    await openActive();
    await stage.settled();
    const from = await spendUnread();
    // The log still has its pair as of the block before.
    const fresh = await stage.sign(maker, { making: { token, amount: 10n } });
    await stage.submit(fresh);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(reads).toBe(from + 1);
    held?.release();
    await reaches(fresh.orderHash, 'INACTIVE');
    expect(lastStates(fresh.orderHash, 2)).toEqual(['VALIDATING', 'INACTIVE']);
  });
});

describe('where the node has forgotten the state of the blocks that were missed', () => {
  test('they are followed with values of the head, and a new order does not wait for ever', async () => {
    await watch();
    const known = await openActive();
    await stage.settled();
    await watcher?.stop();
    await spend(1n);
    await stage.mine(20);
    const fresh = await stage.sign(maker, { making: { token, amount: 9n } });
    await stage.submit(fresh);
    remembered = 5;
    await watch({ STATE_BLOCKS_MAX: '3', CATCH_UP_BLOCKS_MAX: '1000' });
    await reaches(fresh.orderHash, 'ACTIVE');
    await reaches(known.orderHash, 'INACTIVE');
    const blocks = stage.facts.filter(({ partition, fact }) => partition === 0 && fact.type === 'BlockProcessed');
    expect(new Set(blocks.map(({ fact }) => 'block' in fact && fact.block.number)).size).toBe(blocks.length);
  });
});
