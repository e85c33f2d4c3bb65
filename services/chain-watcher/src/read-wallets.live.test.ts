import { expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { type AskedCall, until } from '@makerbook/parts';
import { Interface, MaxUint256, type NonceManager } from 'ethers';
import { eachOnAStage } from './testing/each-on-a-stage.js';
import { addressOf, type Stage } from './testing/stage-chain.js';

const { TestToken, TestWallet } = deployArtifacts;
const [HONEST, REVERTS] = [0, 1] as const;

let stage: Stage;
let owner: NonceManager;
let token: Address;
const { watch, openGate } = eachOnAStage(
  (own) => {
    stage = own;
  },
  async (chain) => {
    owner = await chain.createAccount();
    token = await chain.deploy(TestToken, 'Token', 'TOK', 18);
  },
);

/** Deploys a wallet of the owner that has and allows enough of the token. */
async function deployWallet(): Promise<Address> {
  const wallet = await stage.deploy(TestWallet, addressOf(owner));
  await stage.send(owner, token, TestToken.abi, 'mint', wallet, 1000n);
  const approval = new Interface(TestToken.abi).encodeFunctionData('approve', [stage.protocolAddress, 1000n]);
  await tell(wallet, 'execute', token, approval);
  return wallet;
}
const tell = (wallet: Address, method: string, ...args: unknown[]) =>
  stage.send(owner, wallet, TestWallet.abi, method, ...args);
const post = async (wallet: Address): Promise<Hex> => {
  const signed = await stage.sign(owner, { making: { token, amount: 100n }, maker: wallet });
  return stage.submit({ ...signed, byWallet: true });
};
const reaches = (orderHash: Hex, status: string) =>
  until(`${orderHash} is ${status}`, () => stage.state(orderHash)?.status === status);
/** True if a request asks a contract about a signature. */
const asksWallet = (calls: readonly AskedCall[]) => JSON.stringify(calls).includes('1626ba7e');
const readingsOf = (orderHash: Hex) =>
  stage.facts.flatMap(({ fact }) =>
    fact.type === 'MakerObserved' && fact.orders.some((each) => each.orderHash === orderHash) ? [fact] : [],
  );

test('a wallet’s change without a log is found by the sweep, which publishes nothing twice', async () => {
  const wallet = await deployWallet();
  await watch({ SWEEP_PAIRS_PER_SECOND: '100' });
  const order = await post(wallet);
  await reaches(order, 'ACTIVE');
  for (const [answer, burnt, status] of [
    [REVERTS, 0n, 'VALIDATING'],
    [HONEST, 0n, 'ACTIVE'],
    [HONEST, MaxUint256, 'VALIDATING'],
  ] as const) {
    await tell(wallet, 'setAnswer', answer, burnt);
    await reaches(order, status);
  }
  const before = readingsOf(order).length;
  // Another pair that is swept later shows that the wallet was swept again.
  const swept = await deployWallet();
  const next = await post(swept);
  await reaches(next, 'ACTIVE');
  await tell(swept, 'setAnswer', REVERTS, 0n);
  await reaches(next, 'VALIDATING');
  expect(readingsOf(order)).toHaveLength(before);
});

test('no block waits for a wallet: its orders are VALIDATING until it answers, and others go on', async () => {
  let isHolding = false;
  const held: (() => void)[] = [];
  const { url } = await openGate(async (calls, forward) => {
    if (isHolding && asksWallet(calls)) await new Promise<void>((resolve) => held.push(resolve));
    return forward(calls);
  });
  await watch({ RPC_URL: url });
  const [wallet, honest] = [await deployWallet(), await stage.createAccount()];
  for (const [method, ...args] of [
    ['mint', addressOf(honest), 1000n],
    ['approve', stage.protocolAddress, 1000n],
  ] as const)
    await stage.send(honest, token, TestToken.abi, method, ...args);
  const orders = [await post(wallet), await post(wallet)];
  const other = await stage.submit(await stage.sign(honest, { making: { token, amount: 100n } }));
  for (const each of [...orders, other]) await reaches(each, 'ACTIVE');
  isHolding = true;
  await tell(wallet, 'setOwner', addressOf(owner));
  await stage.settled();
  for (const each of orders) expect(stage.state(each)).toEqual({ status: 'VALIDATING', waitsFor: 'SIGNATURE' });
  expect(stage.state(other)).toEqual({ status: 'ACTIVE' });
  await stage.mine(3);
  await stage.settled();
  const later = await stage.submit(await stage.sign(honest, { making: { token, amount: 100n } }));
  await reaches(later, 'ACTIVE');
  await until('the wallet is asked', () => held.length > 0);
  isHolding = false;
  for (const resolve of held.splice(0)) resolve();
  for (const each of orders) await reaches(each, 'ACTIVE');
});

test('a wallet is asked about all its orders again if the node refuses its logs as too many', async () => {
  const { url } = await openGate(async (calls, forward) => {
    const answers = await forward(calls);
    return answers.map((answer, n) => {
      const isOfWallets =
        calls[n]?.method === 'eth_getLogs' && JSON.stringify(calls[n]?.params).includes('"address":[');
      return isOfWallets ? { id: answer.id, error: { code: -32005, message: 'more than 10000 results' } } : answer;
    });
  });
  await watch({ RPC_URL: url });
  const wallet = await deployWallet();
  const order = await post(wallet);
  await reaches(order, 'ACTIVE');
  const other = await stage.createAccount();
  await tell(wallet, 'setOwner', addressOf(other));
  await reaches(order, 'VALIDATING');
  await stage.settled();
  await tell(wallet, 'setOwner', addressOf(owner));
  await reaches(order, 'ACTIVE');
});
