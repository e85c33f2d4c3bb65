import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Address } from '@makerbook/contracts-primitives';
import { type BaseWallet, Contract, type ContractTransactionResponse, getAddress, Interface } from 'ethers';
import { deployArtifacts, erc20Fragments, multicall3Fragments, wrappedNativeFragments } from './index.js';
import { startTestChain, type TestChain } from './testing/start-test-chain.js';

const ANSWERS = { honest: 0, reverts: 1, tooShort: 2, oversized: 3, enormous: 4, burnsGas: 5 };
const erc20 = new Interface(erc20Fragments);

let chain: TestChain;
let account: BaseWallet;
let multicall: Contract;
let good: Address;
let bad: Contract;
let badAddress: Address;

beforeAll(async () => {
  chain = await startTestChain();
  account = await chain.createAccount();
  multicall = new Contract(await chain.deploy(deployArtifacts.Multicall3), multicall3Fragments, account);
  good = await chain.deploy(deployArtifacts.TestToken, 'Good', 'GOOD', 18);
  badAddress = await chain.deploy(deployArtifacts.IllBehavedToken, 'Bad', 'BAD', 18);
  bad = new Contract(badAddress, deployArtifacts.IllBehavedToken.abi, account);
  for (const address of [good, badAddress]) {
    const token = new Contract(address, deployArtifacts.TestToken.abi, account);
    await (await token.getFunction('mint').send(account.address, 7n)).wait();
  }
});

afterAll(() => chain.stop());

function balanceOf(target: Address, allowFailure = true) {
  return { target, allowFailure, callData: erc20.encodeFunctionData('balanceOf', [account.address]) };
}

async function aggregate(calls: object[], gasLimit = 30_000_000n): Promise<{ success: boolean; returnData: string }[]> {
  const results = await multicall.getFunction('aggregate3').staticCall(calls, { gasLimit });
  return results.map(([success, returnData]: [boolean, string]) => ({ success, returnData }));
}

async function answer(setter: 'setBalanceAnswer' | 'setAllowanceAnswer', how: keyof typeof ANSWERS): Promise<void> {
  await (await bad.getFunction(setter).send(ANSWERS[how])).wait();
}

const seven = { success: true, returnData: `0x${'7'.padStart(64, '0')}` };

describe('aggregate3', () => {
  test('gives each result in the order of the calls, and nothing for nothing', async () => {
    const callData = erc20.encodeFunctionData('symbol');
    const [balance, symbol] = await aggregate([balanceOf(good), { target: good, allowFailure: false, callData }]);
    expect(balance).toEqual(seven);
    expect(erc20.decodeFunctionResult('symbol', symbol?.returnData ?? '0x')[0]).toBe('GOOD');
    expect(await aggregate([])).toEqual([]);
  });

  test.each([
    ['reverts', false],
    ['tooShort', true],
    ['oversized', false],
    ['enormous', false],
    ['burnsGas', false],
  ] as const)('reads the honest tokens around one that %s', async (how, success) => {
    await answer('setBalanceAnswer', how);
    const results = await aggregate([balanceOf(good), balanceOf(badAddress), balanceOf(good)]);
    await answer('setBalanceAnswer', 'honest');
    expect([results[0], results[2]]).toEqual([seven, seven]);
    expect(results[1]?.success).toBe(success);
    if (how === 'tooShort') expect(results[1]?.returnData).toBe(`0x${'00'.repeat(31)}`);
    if (how === 'oversized') expect(results[1]?.returnData).toBe('0x');
  });

  test('reads 500 pairs though every other token burns all the gas it is given', async () => {
    await answer('setBalanceAnswer', 'burnsGas');
    const results = await aggregate(
      Array.from({ length: 500 }, (_, at) => balanceOf(at % 2 === 0 ? badAddress : good)),
    );
    await answer('setBalanceAnswer', 'honest');
    expect(results.filter((result) => result.success)).toEqual(Array.from({ length: 250 }, () => seven));
  });

  test('reads the balances of a token whose allowances are paused', async () => {
    await answer('setAllowanceAnswer', 'reverts');
    const callData = erc20.encodeFunctionData('allowance', [account.address, good]);
    const results = await aggregate([{ target: badAddress, allowFailure: true, callData }, balanceOf(badAddress)]);
    await answer('setAllowanceAnswer', 'honest');
    expect(results.map((result) => result.success)).toEqual([false, true]);
    expect(results[0]?.returnData).toBe(bad.interface.getError('Paused')?.selector);
  });

  test('reverts, naming the call, when one fails that may not', async () => {
    await answer('setBalanceAnswer', 'reverts');
    const call = aggregate([balanceOf(good), balanceOf(badAddress, false)]);
    const errors = new Interface(deployArtifacts.Multicall3.abi);
    await expect(call).rejects.toMatchObject({ data: errors.encodeErrorResult('CallFailed', [1n]) });
    await answer('setBalanceAnswer', 'honest');
  });

  test('answers an address with no code with success and no data', async () => {
    const nobody: Address = '0x00000000000000000000000000000000000000aa';
    expect(await aggregate([balanceOf(nobody)])).toEqual([{ success: true, returnData: '0x' }]);
  });

  test('returns the block that it reads', async () => {
    const block = await chain.provider.getBlock('latest');
    const at = { blockTag: block?.number };
    expect(await multicall.getFunction('getBlockNumber').staticCall(at)).toBe(BigInt(block?.number ?? -1));
    expect(await multicall.getFunction('getCurrentBlockTimestamp').staticCall(at)).toBe(BigInt(block?.timestamp ?? -1));
    const parent = await multicall.getFunction('getBlockHash').staticCall((block?.number ?? 0) - 1, at);
    expect(parent).toBe(block?.parentHash);
  });
});

describe('tokens for tests', () => {
  test('the wrapped native token moves balances by Deposit and Withdrawal, with no Transfer', async () => {
    const address = await chain.deploy(deployArtifacts.WrappedNative, 'Wrapped KAIA', 'WKAIA');
    const wrapped = new Contract(address, [...erc20Fragments, ...wrappedNativeFragments], account);
    const events = async (sent: Promise<ContractTransactionResponse>) =>
      (await (await sent).wait())?.logs.map((log) => wrapped.interface.parseLog(log)?.name);
    expect(await events(wrapped.getFunction('deposit').send({ value: 50n }))).toEqual(['Deposit']);
    expect(await events(wrapped.getFunction('withdraw').send(20n))).toEqual(['Withdrawal']);
    expect(await wrapped.getFunction('balanceOf')(account.address)).toBe(30n);
    expect(await chain.provider.getBalance(address)).toBe(30n);
    const mint = new Contract(address, deployArtifacts.WrappedNative.abi, account).getFunction('mint');
    expect(await events(mint.send(account.address, 5n))).toEqual(['Deposit']);
    expect(await wrapped.getFunction('balanceOf')(account.address)).toBe(35n);
    await expect(wrapped.getFunction('withdraw').staticCall(36n)).rejects.toThrow();
  });

  test('the rebasing token changes balances with no event', async () => {
    const address = await chain.deploy(deployArtifacts.RebasingToken, 'Rebasing', 'RB', 18);
    const token = new Contract(address, deployArtifacts.RebasingToken.abi, account);
    await (await token.getFunction('mint').send(account.address, 1000n)).wait();
    const receipt = await (await token.getFunction('setIndex').send(5n * 10n ** 17n)).wait();
    expect(receipt?.logs).toEqual([]);
    expect(await token.getFunction('balanceOf')(account.address)).toBe(500n);
    await (await token.getFunction('transfer').send(badAddress, 500n)).wait();
    expect(await token.getFunction('balanceOf')(account.address)).toBe(0n);
    expect(await token.getFunction('balanceOf')(badAddress)).toBe(500n);
  });

  test('the fee-on-transfer token delivers less than was sent, and less than its Transfer event shows', async () => {
    const address = await chain.deploy(deployArtifacts.FeeOnTransferToken, 'Fee', 'FEE', 18);
    const token = new Contract(address, deployArtifacts.FeeOnTransferToken.abi, account);
    await (await token.getFunction('mint').send(account.address, 1000n)).wait();
    await (await token.getFunction('setFeeBasisPoints').send(1000n)).wait();
    const receipt = await (await token.getFunction('transfer').send(badAddress, 1000n)).wait();
    const logged = receipt?.logs.map((log) => token.interface.parseLog(log)?.args.toArray());
    expect(logged).toEqual([[account.address, getAddress(badAddress), 1000n]]);
    expect(await token.getFunction('balanceOf')(account.address)).toBe(0n);
    expect(await token.getFunction('balanceOf')(badAddress)).toBe(900n);
    expect(await token.getFunction('totalSupply')()).toBe(900n);
  });
});
