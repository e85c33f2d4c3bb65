import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { Contract, type NonceManager } from 'ethers';
import type { Watcher } from './run.js';
import { type AskedCall, type Gate, startMisbehavingNode } from './testing/gate-node.js';
import { addressOf, type SignedOrder, Stage, until } from './testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;
const PROTOCOL = deployArtifacts.LimitOrderProtocol.abi;

let stage: Stage;
let token: Address;
let taking: Address;
let watcher: Watcher | undefined;
let gate: Gate | undefined;
/** Which requests the node does not answer, as if it were away; those that it has refused are counted. */
let isRefused: (calls: readonly AskedCall[]) => boolean = () => false;
let refused = 0;
/** Requests that are answered only when this has resolved. */
let slow: { readonly isMeant: (calls: readonly AskedCall[]) => boolean; readonly until: Promise<void> } | undefined;

beforeAll(async () => {
  stage = await Stage.open();
  token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
  taking = await stage.deploy(deployArtifacts.TestToken, 'Taking', 'TAK', 18);
  await stage.send(stage.taker, taking, ERC20, 'mint', addressOf(stage.taker), 1000n);
  await stage.send(stage.taker, taking, ERC20, 'approve', stage.protocolAddress, 1000n);
  gate = await startMisbehavingNode(stage.anvil.rpcUrl, async (calls, forward) => {
    if (isRefused(calls)) {
      refused += 1;
      return { status: 503 };
    }
    if (slow?.isMeant(calls)) await slow.until;
    return forward(calls);
  });
});
afterEach(async () => {
  isRefused = () => false;
  refused = 0;
  slow = undefined;
  await watcher?.stop();
  watcher = undefined;
});
afterAll(async () => {
  await gate?.close();
  await stage?.close();
});

const watch = async (settings: Record<string, string> = {}) => {
  watcher = await stage.watch({ RPC_URL: gate?.url ?? '', ...settings });
};
const reads = (calls: readonly AskedCall[]) => calls.some(({ method }) => method === 'eth_call');
const mint = (to: NonceManager, amount: bigint) => stage.send(stage.taker, token, ERC20, 'mint', addressOf(to), amount);
const lastStates = (orderHash: Hex) =>
  stage
    .states(orderHash)
    .map(({ status }) => status)
    .slice(-2);

/** An INACTIVE order for 100 of a maker who holds 50, while no watcher runs any more. */
const leavePoorOrder = async (): Promise<{ maker: NonceManager; signed: SignedOrder }> => {
  const maker = await stage.createAccount();
  await stage.send(maker, token, ERC20, 'approve', stage.protocolAddress, 10n ** 30n);
  await mint(maker, 50n);
  await watch();
  const making = { token, amount: 100n };
  const signed = await stage.sign(maker, { making, taking: { token: taking, amount: 100n } });
  await stage.submit(signed);
  await until('it is INACTIVE', () => stage.state(signed.orderHash)?.status === 'INACTIVE');
  await stage.settled();
  await watcher?.stop();
  return { maker, signed };
};

describe('an order that was fillable at no block is ACTIVE at no time', () => {
  test('when what happened meanwhile is caught up with at the head, and the node goes away in between', async () => {
    const { maker, signed } = await leavePoorOrder();
    const others: NonceManager[] = [];
    for (let n = 0; n < 3; n += 1) others.push((await leavePoorOrder()).maker);
    await mint(maker, 50n);
    const { order, signature, orderHash } = signed;
    await stage.send(stage.taker, stage.protocolAddress, PROTOCOL, 'fillOrder', order, signature, 60n, 1000n);
    await stage.send(maker, token, ERC20, 'transfer', addressOf(stage.taker), 30n);
    const cancelling = others[1] as NonceManager;
    await mint(cancelling, 50n);
    await stage.send(cancelling, stage.protocolAddress, PROTOCOL, 'cancelAllOrders');
    await stage.mine(30);
    let isFirst = true;
    isRefused = (calls) => {
      if (!reads(calls)) return false;
      const refuse = !isFirst;
      isFirst = false;
      return refuse;
    };
    await watch({ CATCH_UP_BLOCKS_MAX: '10', MULTICALL_CALLS_MAX: '4' });
    await until('it is tried again', () => refused > 3);
    isRefused = () => false;
    await stage.settled();
    expect(lastStates(orderHash)).toEqual(['VALIDATING', 'INACTIVE']);
    expect(stage.remaining(orderHash)).toBe(40n);
  });

  test('when the blocks of a long absence are followed with values of the head', async () => {
    const { maker, signed } = await leavePoorOrder();
    await mint(maker, 10n);
    await stage.mine(10);
    await stage.send(maker, stage.protocolAddress, PROTOCOL, 'cancelAllOrders');
    const hash = (await stage.provider.getBlock('latest'))?.hash;
    await mint(maker, 40n);
    await stage.mine(30);
    const before = stage.processedBlock();
    // It does not get to the block in which the order was cancelled.
    isRefused = (calls) =>
      calls.some(({ method, params }) => method === 'eth_getLogs' && asText(params).includes(`${hash}`));
    await watch({ CATCH_UP_BLOCKS_MAX: '100000', STATE_BLOCKS_MAX: '3' });
    await until('it stands before that block', () => refused > 2);
    expect(stage.processedBlock()).toBeGreaterThan(before + 5);
    expect(lastStates(signed.orderHash)).toEqual(['INACTIVE', 'NONCE_CHANGED']);
  });

  test('when the sweep comes by while the block is being read that made its maker rich and cancelled it', async () => {
    const maker = await stage.createAccount();
    await mint(maker, 1000n);
    const signed = await stage.sign(maker, { making: { token, amount: 100n } });
    const { orderHash, order } = signed;
    await watch({ SWEEP_PAIRS_PER_SECOND: '100' });
    await stage.submit(signed);
    await until('it is INACTIVE', () => stage.state(orderHash)?.status === 'INACTIVE');
    await stage.settled();
    let release: () => void = () => undefined;
    let isReading = false;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    slow = {
      isMeant: (calls) => {
        const isMeant = reads(calls) && calls.some(({ params }) => asText(params).includes(orderHash.slice(2)));
        isReading ||= isMeant;
        return isMeant;
      },
      until: released,
    };
    await stage.provider.send('evm_setAutomine', [false]);
    const gas = { gasLimit: 1_000_000 };
    await new Contract(token, ERC20, maker).getFunction('approve').send(stage.protocolAddress, 10n ** 30n, gas);
    await new Contract(stage.protocolAddress, PROTOCOL, maker).getFunction('cancelOrder').send(order, gas);
    await stage.mine();
    await stage.provider.send('evm_setAutomine', [true]);
    await until('the block is being read', () => isReading);
    // Time for the sweep to come by.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    release();
    await stage.settled();
    expect(lastStates(orderHash)).toEqual(['INACTIVE', 'CANCELLED_ONCHAIN']);
  });
});

function asText(value: unknown): string {
  return JSON.stringify(value);
}
