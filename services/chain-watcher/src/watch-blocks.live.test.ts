import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { NonceManager } from 'ethers';
import type { Watcher } from './run.js';
import { startGate } from './testing/gate-node.js';
import { addressOf, type SignedOrder, Stage, until } from './testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;

let stage: Stage;
let watcher: Watcher | undefined;
let maker: NonceManager;
let taker: NonceManager;
let token: Address;
let taking: Address;

beforeAll(async () => {
  stage = await Stage.open();
  taker = stage.taker;
  token = await stage.deploy(deployArtifacts.TestToken, 'Making', 'MAK', 18);
  taking = await stage.deploy(deployArtifacts.TestToken, 'Taking', 'TAK', 18);
  await stage.send(taker, taking, ERC20, 'mint', addressOf(taker), 10n ** 30n);
  await stage.send(taker, taking, ERC20, 'approve', stage.protocolAddress, 2n ** 256n - 1n);
});
afterEach(async () => {
  await watcher?.stop();
  watcher = undefined;
});
afterAll(() => stage.close());

const approve = (amount: bigint) => stage.send(maker, token, ERC20, 'approve', stage.protocolAddress, amount);
const post = async (amount: bigint, making = token): Promise<SignedOrder> => {
  const signed = await stage.sign(maker, { making: { token: making, amount }, taking: { token: taking, amount } });
  await stage.submit(signed);
  return signed;
};
const reaches = (orderHash: Hex, status: string) =>
  until(`${orderHash} is ${status}`, () => {
    const state = stage.state(orderHash);
    const reason = state !== undefined && 'reason' in state ? ` ${state.reason}` : '';
    return `${state?.status}${reason}` === status;
  });

describe('a block that touches nobody', () => {
  test('costs two requests, and no call per order or maker', async () => {
    const methods: string[] = [];
    const gate = await startGate(stage.anvil.rpcUrl, async (calls) => {
      methods.push(calls.map(({ method }) => method).join('+'));
      return undefined;
    });
    const { url } = gate;
    watcher = await stage.watch({ RPC_URL: url });
    for (let n = 0; n < 5; n += 1) {
      maker = await stage.createAccount();
      const orders = [await post(BigInt(n + 1)), await post(BigInt(n + 100))];
      for (const { orderHash } of orders) await reaches(orderHash, 'INACTIVE INSUFFICIENT_ALLOWANCE');
    }
    // Two more blocks, and the orders are known to have been read.
    await stage.mine(2);
    await stage.settled();
    await watcher.stop();
    const stranger = addressOf(await stage.createAccount());
    const from = await stage.provider.getBlockNumber();
    await stage.send(taker, token, ERC20, 'mint', stranger, 1n);
    await stage.mine(9);
    methods.length = 0;
    watcher = await stage.watch({ RPC_URL: url, POLL_INTERVAL_MS: '100000' });
    await stage.settled();
    expect((await stage.provider.getBlockNumber()) - from).toBe(10);
    expect(methods.filter((method) => method === 'eth_getLogs')).toHaveLength(10);
    expect(methods.filter((method) => method === 'eth_getBlockByNumber+eth_blockNumber').length).toBeLessThan(12);
    expect(methods.filter((method) => method.includes('eth_call'))).toEqual([]);
    await gate.close();
  });
});

describe('the log', () => {
  test('holds every block in every partition, without a gap, with the facts of a block before its BlockProcessed', async () => {
    watcher = await stage.watch();
    maker = await stage.createAccount();
    await post(10n);
    for (let n = 1; n <= 5; n += 1) await approve(BigInt(n));
    await stage.mine(3);
    await stage.settled();
    for (let partition = 0; partition < 3; partition += 1) {
      const facts = stage.facts.filter((stored) => stored.partition === partition).map(({ fact }) => fact);
      const numbers = facts.flatMap((fact) => (fact.type === 'BlockProcessed' ? [fact.block.number] : []));
      expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
      let processed = -1;
      for (const fact of facts) {
        if (fact.type === 'BlockProcessed') processed = fact.block.number;
        else if ('block' in fact && fact.cause.kind === 'log') expect(fact.block.number).toBe(processed + 1);
      }
    }
  });

  test('gets each record once, under an id of its own', async () => {
    const ids = stage.facts.filter(({ fact }) => 'block' in fact).map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(20);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { fact, partition, id } of stage.facts) {
      if (fact.type === 'BlockProcessed') {
        expect(id).toBe(`${fact.block.number}:BlockProcessed:${partition}`);
      }
    }
  });
});
