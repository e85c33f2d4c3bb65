import { expect, test } from '@jest/globals';
import { deployArtifacts } from '@makerbook/contracts-evm';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { until } from '@makerbook/parts';
import { Interface, MaxUint256, type NonceManager } from 'ethers';
import { eachOnAStage } from './testing/each-on-a-stage.js';
import { addressOf, type Stage } from './testing/stage-chain.js';

const { TestToken, TestWallet } = deployArtifacts;
const [HONEST, REVERTS] = [0, 1] as const;

let stage: Stage;
let owner: NonceManager;
let token: Address;
const { watch } = eachOnAStage(
  (own) => {
    stage = own;
  },
  async (chain) => {
    owner = await chain.createAccount();
    token = await chain.deploy(TestToken, 'Token', 'TOK', 18);
  },
);

/** A wallet of the owner that has and allows enough of the token. */
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
const readingsOf = (orderHash: Hex) =>
  stage.facts.flatMap(({ fact }) =>
    fact.type === 'MakerObserved' && fact.orders.some((each) => each.orderHash === orderHash) ? [fact] : [],
  );

test('what a wallet changes without a log is found by the sweep, which says nothing twice', async () => {
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
