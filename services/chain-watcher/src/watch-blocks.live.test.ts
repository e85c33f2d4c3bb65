import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { NonceManager } from 'ethers';
import type { Watcher } from './run.js';
import { startGate } from './testing/gate-node.js';
import { addressOf, type SignedOrder, Stage, until, untilMined } from './testing/stage-chain.js';

const ERC20 = deployArtifacts.TestToken.abi;
const WRAPPED = deployArtifacts.WrappedNative.abi;
const PROTOCOL = deployArtifacts.LimitOrderProtocol.abi;

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
const mint = (amount: bigint) => stage.send(taker, token, ERC20, 'mint', addressOf(maker), amount);
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
const fill = ({ order, signature }: SignedOrder, amount: bigint) =>
  stage.send(taker, stage.protocolAddress, PROTOCOL, 'fillOrder', order, signature, amount, 10n ** 30n);

describe('an order follows the chain', () => {
  test('from VALIDATING through every reason and back, by approve, mint, transfer and what a fill spends', async () => {
    watcher = await stage.watch();
    maker = await stage.createAccount();
    const { orderHash } = await post(100n);
    await reaches(orderHash, 'INACTIVE INSUFFICIENT_ALLOWANCE');
    await approve(150n);
    await reaches(orderHash, 'INACTIVE INSUFFICIENT_BALANCE');
    await mint(120n);
    await reaches(orderHash, 'ACTIVE');
    await stage.send(maker, token, ERC20, 'transfer', addressOf(taker), 30n);
    await reaches(orderHash, 'INACTIVE INSUFFICIENT_BALANCE');
    await mint(1000n);
    await reaches(orderHash, 'ACTIVE');

    const other = await post(60n);
    await reaches(other.orderHash, 'ACTIVE');
    await fill(other, 20n);
    await until('20 are filled', () => stage.remaining(other.orderHash) === 40n);
    await reaches(orderHash, 'ACTIVE');
    await fill(other, 40n);
    await reaches(other.orderHash, 'REMOVED FILLED');
    await reaches(orderHash, 'INACTIVE INSUFFICIENT_ALLOWANCE');
    await approve(0n);
    await stage.settled();
    expect(stage.state(orderHash)).toEqual({ status: 'INACTIVE', reason: 'INSUFFICIENT_ALLOWANCE' });
  });

  test('when a wrapped native token is deposited and withdrawn, which emits no Transfer', async () => {
    watcher = await stage.watch();
    maker = await stage.createAccount();
    const wrapped = await stage.deploy(deployArtifacts.WrappedNative, 'Wrapped', 'WRP');
    await stage.send(maker, wrapped, WRAPPED, 'approve', stage.protocolAddress, 10n ** 18n);
    const { orderHash } = await post(50n, wrapped);
    await reaches(orderHash, 'INACTIVE INSUFFICIENT_BALANCE');
    const sent = await maker.sendTransaction({ to: wrapped, value: 60n, gasLimit: 200_000 });
    await untilMined(sent);
    await reaches(orderHash, 'ACTIVE');
    await stage.send(maker, wrapped, WRAPPED, 'withdraw', 20n);
    await reaches(orderHash, 'INACTIVE INSUFFICIENT_BALANCE');
  });

  test('when its maker cancels it, or all orders, on the chain', async () => {
    watcher = await stage.watch();
    maker = await stage.createAccount();
    const first = await post(10n);
    const second = await post(11n);
    await reaches(first.orderHash, 'INACTIVE INSUFFICIENT_ALLOWANCE');
    await stage.send(maker, stage.protocolAddress, PROTOCOL, 'cancelOrder', first.order);
    await reaches(first.orderHash, 'REMOVED CANCELLED_ONCHAIN');
    await stage.send(maker, stage.protocolAddress, PROTOCOL, 'cancelAllOrders');
    await reaches(second.orderHash, 'REMOVED NONCE_CHANGED');
  });

  test('when it was partly filled, filled or cancelled on the chain before it was posted', async () => {
    watcher = await stage.watch();
    maker = await stage.createAccount();
    await approve(10n ** 30n);
    await mint(1000n);
    const terms = { making: { token, amount: 100n }, taking: { token: taking, amount: 100n } };
    const [part, whole, cancelled] = [
      await stage.sign(maker, terms),
      await stage.sign(maker, terms),
      await stage.sign(maker, terms),
    ];
    await fill(part, 30n);
    await fill(whole, 100n);
    await stage.send(maker, stage.protocolAddress, PROTOCOL, 'cancelOrder', cancelled.order);
    await stage.settled();
    for (const signed of [part, whole, cancelled]) await stage.submit(signed);
    await reaches(part.orderHash, 'ACTIVE');
    expect(stage.remaining(part.orderHash)).toBe(70n);
    await reaches(whole.orderHash, 'REMOVED FILLED');
    await reaches(cancelled.orderHash, 'REMOVED CANCELLED_ONCHAIN');
  });

  test('when the chain’s clock passes its expiry', async () => {
    watcher = await stage.watch();
    maker = await stage.createAccount();
    const now = (await stage.provider.getBlock('latest'))?.timestamp ?? 0;
    const signed = await stage.sign(maker, { making: { token, amount: 5n }, expiresAt: BigInt(now + 500) });
    await stage.submit(signed);
    await reaches(signed.orderHash, 'INACTIVE INSUFFICIENT_ALLOWANCE');
    await stage.provider.send('evm_increaseTime', [501]);
    await stage.mine();
    await reaches(signed.orderHash, 'REMOVED EXPIRED');
  });
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
