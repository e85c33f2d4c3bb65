import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { type BaseWallet, Contract, MaxUint256, Wallet } from 'ethers';
import fc from 'fast-check';
import {
  bytesToHex,
  createSwapCallHasher,
  decodeSwapCall,
  deployArtifacts,
  encodeSwapCall,
  isSwapCallRefusal,
  type UnsignedSwapCall,
} from './index.js';
import { hexOf, uint256 } from './testing/any-values.js';
import { expectRevert } from './testing/expect-revert.js';
import { startTestChain } from './testing/start-test-chain.js';

const SERVICE_NAME = 'Makerbook';

const chain = await startTestChain();
afterAll(() => chain.stop());
const [owner, trader] = [await chain.createAccount(), await chain.createAccount()];
const quoteSigner = Wallet.createRandom();
const recipient: Address = '0x00000000000000000000000000000000000000ee';
const { Navigator, TestToken } = deployArtifacts;
const navigatorAddress = await chain.deploy(Navigator, SERVICE_NAME, owner.address, [quoteSigner.address]);
const navigator = new Contract(navigatorAddress, Navigator.abi, owner);
const hasher = createSwapCallHasher({ serviceName: SERVICE_NAME, chainId: 8217, verifyingContract: navigatorAddress });
const tokens: Address[] = [];
for (const name of ['A', 'B', 'C']) tokens.push(await chain.deploy(TestToken, name, name, 18));
const pools = [await openPool(at(tokens, 0), at(tokens, 1)), await openPool(at(tokens, 1), at(tokens, 2))];

beforeAll(async () => {
  const spent = new Contract(at(tokens, 0), TestToken.abi, trader);
  await wait(spent.getFunction('mint').send(trader.address, 10n ** 24n));
  await wait(spent.getFunction('approve').send(navigatorAddress, MaxUint256));
});

test.each([
  ['of version v0 over one pool, to the caller', quoteV0, 1, trader.address],
  ['of version v0 over two, to the caller', quoteV0, 2, trader.address],
  ['of version v1, to the recipient that it names', quoteV1, 2, recipient],
])('a signed quote executes: %s', async (_what, quote, hops, payee) => {
  const tokenOut = at(tokens, hops);
  const expected = await expectedOutput(hops);
  const before = await balance(tokenOut, payee);
  await execute(sign({ ...quote(hops), minOutput: expected }));
  expect(await balance(tokenOut, payee)).toBe(before + expected);
});

describe('the minimum', () => {
  test('applies to what arrives, even of a token that takes a fee', async () => {
    const fee = await chain.deploy(deployArtifacts.FeeOnTransferToken, 'Fee', 'FEE', 18);
    const pool = await openPool(at(tokens, 0), fee);
    const quoted: bigint = await poolAt(pool).getFunction('quote')(at(tokens, 0), 1000n);
    const arrives = quoted - (quoted * 100n) / 10_000n;
    const quote = { ...quoteV0(1), tokenOut: fee, pools: [pool] };
    await expectRevert(tryExecute(sign({ ...quote, minOutput: quoted })), 'InsufficientOutput', [arrives, quoted]);
    expect(await tryExecute(sign({ ...quote, minOutput: arrives }))).toBe(arrives);
  });
});

describe('a quote signer', () => {
  test('is accepted once the owner has admitted it, until the owner removes it', async () => {
    const next = Wallet.createRandom();
    const data = sign(quoteV0(1), next);
    await expectRevert(tryExecute(data), 'UnknownQuoteSigner', [next.address]);
    await wait(navigator.getFunction('setQuoteSigner').send(next.address, true));
    expect(await tryExecute(data)).toBe(await expectedOutput(1));
    expect(await tryExecute(sign(quoteV0(1)))).toBe(await expectedOutput(1));
    await wait(navigator.getFunction('setQuoteSigner').send(next.address, false));
    await expectRevert(tryExecute(data), 'UnknownQuoteSigner', [next.address]);
    const stranger = navigator.connect(trader) as Contract;
    await expectRevert(
      stranger.getFunction('setQuoteSigner').staticCall(next.address, true),
      'OwnableUnauthorizedAccount',
    );
  });
});

test('a route that ends in another token is refused', async () => {
  await expectRevert(tryExecute(sign({ ...quoteV0(1), tokenOut: at(tokens, 2) })), 'WrongOutputToken');
});

test('the contract reads each field as the codec encodes it, and refuses only an unknown signer', async () => {
  const calls = fc.record({
    version: fc.constant('v1' as const),
    quoteId: uint256,
    tokenIn: hexOf(20),
    amountIn: uint256,
    tokenOut: hexOf(20),
    recipient: hexOf(20),
    deadline: fc.bigInt({ min: 2n ** 40n, max: 2n ** 256n - 1n }),
    pools: fc.array(hexOf(20), { minLength: 1, maxLength: 8 }),
    minOutput: fc.option(uint256, { nil: undefined }),
  });
  // The contract recovers our signer only if it hashed every field as we did.
  const stranger = Wallet.createRandom();
  for (const value of fc.sample(calls, 30)) {
    const data = sign(value, stranger);
    expect(isSwapCallRefusal(decodeSwapCall(data))).toBe(false);
    await expectRevert(tryExecute(data), 'UnknownQuoteSigner', [stranger.address]);
    const { quoteId: _, recipient: __, ...rest } = value;
    await expectRevert(tryExecute(sign({ ...rest, version: 'v0' }, stranger)), 'UnknownQuoteSigner', [
      stranger.address,
    ]);
  }
});

function quoteV0(hops: number): UnsignedSwapCall {
  return {
    version: 'v0',
    tokenIn: at(tokens, 0),
    amountIn: 1000n,
    tokenOut: at(tokens, hops),
    deadline: 2n ** 40n,
    pools: pools.slice(0, hops),
    minOutput: 1n,
  };
}

function quoteV1(hops: number): UnsignedSwapCall {
  return { ...quoteV0(hops), version: 'v1', quoteId: 77n, recipient };
}

function sign(quote: UnsignedSwapCall, signer: { signingKey: BaseWallet['signingKey'] } = quoteSigner): Uint8Array {
  const signature = signer.signingKey.sign(hasher.hashSwapCall(quote)).serialized as Hex;
  return encodeSwapCall({ ...quote, signature });
}

async function openPool(token0: Address, token1: Address): Promise<Address> {
  const pool = await chain.deploy(deployArtifacts.TestPool, token0, token1);
  for (const [address, amount] of [
    [token0, 10n ** 6n],
    [token1, 3n * 10n ** 6n],
  ] as const) {
    await wait(new Contract(address, TestToken.abi, owner).getFunction('mint').send(pool, amount));
  }
  await wait(poolAt(pool).getFunction('sync').send());
  return pool;
}

function poolAt(pool: Address): Contract {
  return new Contract(pool, deployArtifacts.TestPool.abi, owner);
}

async function expectedOutput(hops: number): Promise<bigint> {
  let amount = 1000n;
  for (let hop = 0; hop < hops; hop += 1)
    amount = await poolAt(at(pools, hop)).getFunction('quote')(at(tokens, hop), amount);
  return amount;
}

async function tryExecute(data: Uint8Array): Promise<bigint> {
  return BigInt(await trader.call({ to: navigatorAddress, data: bytesToHex(data), gasLimit: 3_000_000 }));
}

async function execute(data: Uint8Array): Promise<void> {
  await wait(trader.sendTransaction({ to: navigatorAddress, data: bytesToHex(data), gasLimit: 3_000_000 }));
}

async function wait(sent: Promise<{ wait(): Promise<unknown> }>): Promise<void> {
  await (await sent).wait();
}

function balance(token: Address, account: string): Promise<bigint> {
  return new Contract(token, TestToken.abi, owner).getFunction('balanceOf')(account);
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new Error(`nothing at ${index}`);
  return item;
}
