import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { BlockRef } from '@makerbook/contracts-events';
import { type Address, deployArtifacts, type Hex } from '@makerbook/contracts-evm';
import type { NonceManager } from 'ethers';
import type { Watcher } from './run.js';
import { type AskedCall, type Gate, startGate } from './testing/gate-node.js';
import { addressOf, type SignedOrder, Stage, until } from './testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;
const PROTOCOL = deployArtifacts.LimitOrderProtocol.abi;
const PARTITIONS = [0, 1, 2];

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
const newest = async (): Promise<BlockRef> => {
  const block = await stage.provider.getBlock('latest');
  if (block === null) throw new Error('no newest block');
  return { number: block.number, hash: block.hash as Hex, timestamp: block.timestamp };
};
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
    // Of its pair the log still says what was true at the block before.
    const fresh = await stage.sign(maker, { making: { token, amount: 10n } });
    await stage.submit(fresh);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(reads).toBe(from + 1);
    held?.release();
    await reaches(fresh.orderHash, 'INACTIVE');
    expect(lastStates(fresh.orderHash, 2)).toEqual(['VALIDATING', 'INACTIVE']);
  });
});

describe('beside another watcher', () => {
  test('an order whose funds the other one read before the block that was just matched is read anew', async () => {
    // It looks at a new order when the block is published, and after this time: then the other one's facts are in the log.
    await watch({ ORDER_GATHER_MS: '500' });
    const other = await openActive();
    const first = maker;
    const signed = await openMaker(10n);
    const account = addressOf(maker);
    await stage.settled();
    // The other watcher reads the pair at this block.
    const block = await newest();
    const allowance = await stage.read<bigint>(token, ERC20, 'allowance', account, stage.protocolAddress);
    hold();
    const from = reads;
    // This watcher matches the next block, in which both spend: it knows the first maker alone.
    await stage.provider.send('evm_setAutomine', [false]);
    const spending = [spend(1n)];
    maker = first;
    spending.push(spend(1n));
    await until('both wait to be mined', async () => {
      const pending = (await stage.provider.send('txpool_status', [])) as { pending: string };
      return Number(pending.pending) === 2;
    });
    await stage.mine();
    await stage.provider.send('evm_setAutomine', [true]);
    await Promise.all(spending);
    await readsMore(from);
    const { orderHash } = signed;
    const read = { maker: account, block, cause: { kind: 'read', occasion: 'ORDER' } } as const;
    await stage.submit(signed, 0, [
      { ...read, type: 'NonceChanged', nonce: '0x0' },
      { ...read, type: 'AllowanceChanged', token, allowance: `0x${allowance.toString(16)}` },
      { ...read, type: 'BalanceChanged', token, balance: '0xa' },
      { ...read, type: 'OrderFilled', orderHash, filledMakingAmount: '0x0' },
    ]);
    await reaches(orderHash, 'ACTIVE');
    held?.release();
    await reaches(orderHash, 'INACTIVE');
    expect(stage.state(orderHash)).toEqual({ status: 'INACTIVE', reason: 'INSUFFICIENT_BALANCE' });
    // By the block that changed its funds at the latest, or by a reading before it.
    const [, active, next] = stage.states(orderHash);
    expect(active?.status).toBe('ACTIVE');
    expect(next?.by).toMatchObject({ block: { number: block.number + 1 } });
    expect(stage.state(other.orderHash)?.status).toBe('INACTIVE');
    expect(lastStates(other.orderHash, 2)).toEqual(['ACTIVE', 'INACTIVE']);
  });

  test('which published a block without knowing an order, and is gone: the order is VALIDATING until it is read here', async () => {
    await watch();
    const kept = await openActive();
    const cancelled = await openActive();
    await stage.settled();
    hold();
    const from = reads;
    await stage.send(maker, stage.protocolAddress, PROTOCOL, 'cancelOrder', cancelled.order);
    await readsMore(from);
    for (const partition of PARTITIONS) await stage.publishBlockTo(partition, 0n);
    for (const { orderHash } of [kept, cancelled]) await reaches(orderHash, 'VALIDATING');
    held?.release();
    await reaches(cancelled.orderHash, 'REMOVED');
    // Nothing happened to the other one: it is read again, and no further block is needed.
    await reaches(kept.orderHash, 'ACTIVE');
    expect(lastStates(kept.orderHash, 3)).toEqual(['ACTIVE', 'VALIDATING', 'ACTIVE']);
    expect(lastStates(cancelled.orderHash, 3)).toEqual(['ACTIVE', 'VALIDATING', 'CANCELLED_ONCHAIN']);
  });

  test('a new order is read again whose reading comes behind a block of the other one, and no further block is needed', async () => {
    await watch();
    const signed = await openMaker(10n);
    await stage.settled();
    hold();
    const from = reads;
    await stage.submit(signed);
    await readsMore(from);
    await stage.mine();
    for (const partition of PARTITIONS) await stage.publishBlockTo(partition);
    held?.release();
    await reaches(signed.orderHash, 'ACTIVE');
    const readings = stage.facts.flatMap(({ fact }) =>
      fact.type === 'OrderFilled' && fact.orderHash === signed.orderHash ? [fact.block.number] : [],
    );
    const { number } = await newest();
    expect(readings).toEqual([number - 1, number]);
  });

  test('what it did not know of a block that it published is told nevertheless', async () => {
    await watch();
    const signed = await openActive();
    await stage.settled();
    await spendUnread();
    for (const partition of PARTITIONS) await stage.publishBlockTo(partition);
    await stage.settled();
    // It sees that the block is there before it gets to publish it.
    await new Promise((resolve) => setTimeout(resolve, 2000));
    expect(stage.state(signed.orderHash)?.status).toBe('ACTIVE');
    held?.release();
    await reaches(signed.orderHash, 'INACTIVE');
    const { number } = await newest();
    await stage.mine();
    await stage.settled();
    for (const partition of PARTITIONS) {
      const same = stage.facts.filter(
        ({ partition: at, fact }) => at === partition && fact.type === 'BlockProcessed' && fact.block.number === number,
      );
      expect(same).toHaveLength(1);
    }
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
