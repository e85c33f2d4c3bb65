import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Address, type Hex, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import {
  type BaseWallet,
  Contract,
  type ContractTransactionReceipt,
  type ContractTransactionResponse,
  getAddress,
  type Log,
  MaxUint256,
} from 'ethers';
import fc from 'fast-check';
import { bytesToHex, createOrderHasher, deployArtifacts, type Order } from './index.js';
import { anyOrder } from './testing/any-values.js';
import { expectRevert } from './testing/expect-revert.js';
import { startTestChain } from './testing/start-test-chain.js';

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const GAS = { gasLimit: 1_000_000 };
// The name is longer than OpenZeppelin's EIP712 can take.
const SERVICE_NAME = 'Makerbook with a name of some length';

const chain = await startTestChain();
afterAll(() => chain.stop());
const [maker, taker] = [await chain.createAccount(), await chain.createAccount()];
const protocolAddress = await chain.deploy(deployArtifacts.LimitOrderProtocol, SERVICE_NAME);
const protocol = new Contract(protocolAddress, deployArtifacts.LimitOrderProtocol.abi, taker);
const hasher = createOrderHasher({ serviceName: SERVICE_NAME, chainId: 8217, verifyingContract: protocolAddress });
const making = await chain.deploy(deployArtifacts.IllBehavedToken, 'Making', 'MAK', 18);
const taking = await chain.deploy(deployArtifacts.TestToken, 'Taking', 'TAK', 6);
let salt = 0n;

beforeAll(async () => {
  for (const [wallet, address] of [
    [maker, making],
    [taker, taking],
  ] as const) {
    await send(token(address, wallet), 'mint', wallet.address, 10n ** 30n);
    await send(token(address, wallet), 'approve', protocolAddress, MaxUint256);
  }
});

describe('the hash on the chain', () => {
  test('equals the hash that is computed off the chain, for a hundred random orders', async () => {
    const sample = fc.sample(anyOrder, 100);
    const hashes = await Promise.all(sample.map((order) => protocol.getFunction('hashOrder')(order)));
    expect(hashes).toEqual(sample.map(hash));
  });

  test('uses the domain that the contract declares', async () => {
    const [fields, name, version, chainId, verifyingContract] = await protocol.getFunction('eip712Domain')();
    expect([fields, name, version, chainId]).toEqual(['0x0f', `${SERVICE_NAME} Limit Order Protocol`, 'v0', 8217n]);
    expect(verifyingContract.toLowerCase()).toBe(protocolAddress);
    expect(await protocol.getFunction('domainSeparator')()).toBe(bytesToHex(hasher.domainSeparator));
  });
});

describe('a fill', () => {
  test('in full moves both tokens and leaves nothing, for any taker if the permitted taker is zero', async () => {
    const order = newOrder();
    const before = await balances();
    const receipt = await fill(order, 1000n);
    expect(await balances()).toEqual({
      makerMaking: before.makerMaking - 1000n,
      makerTaking: before.makerTaking + 500n,
      takerMaking: before.takerMaking + 1000n,
      takerTaking: before.takerTaking - 500n,
    });
    expect(protocolEvents(receipt)).toEqual([
      ['OrderFilled', maker.address, hash(order), taker.address, 1000n, 500n, 0n],
    ]);
    expect(receipt.logs[0]?.topics.slice(1)).toEqual([word(maker.address), hash(order)]);
    expect(await protocol.getFunction('remaining')(order)).toBe(0n);
    await expectRevert(tryFill(order, 1n), 'InsufficientRemaining');
  });

  test('in part leaves the rest, and each event says what remains', async () => {
    const order = newOrder();
    expect(protocolEvents(await fill(order, 300n))[0]?.at(-1)).toBe(700n);
    expect(await protocol.getFunction('filled')(hash(order))).toBe(300n);
    expect(await protocol.getFunction('remaining')(order)).toBe(700n);
    await expectRevert(tryFill(order, 701n), 'InsufficientRemaining', [701n, 700n]);
    expect(protocolEvents(await fill(order, 700n))[0]?.at(-1)).toBe(0n);
  });

  test('rounds up what the taker pays, in the maker’s favour', async () => {
    const order = newOrder({ making: { token: making, amount: 3n }, taking: { token: taking, amount: 10n } });
    const before = await balances();
    const paid = [];
    for (let part = 0; part < 3; part += 1) paid.push(protocolEvents(await fill(order, 1n))[0]?.[5]);
    expect(paid).toEqual([4n, 4n, 4n]);
    expect((await balances()).makerTaking).toBe(before.makerTaking + 12n);
    const cheap = newOrder({ making: { token: making, amount: 10n ** 20n }, taking: { token: taking, amount: 1n } });
    expect(protocolEvents(await fill(cheap, 1n))[0]?.[5]).toBe(1n);
  });

  test('keeps its price if the product of its amounts exceeds uint256', async () => {
    const order = newOrder({
      making: { token: making, amount: MaxUint256 },
      taking: { token: taking, amount: MaxUint256 },
    });
    expect(protocolEvents(await fill(order, 10n ** 6n))[0]?.[5]).toBe(10n ** 6n);
  });

  test('costs the taker no more than the given threshold', async () => {
    const order = newOrder();
    await expectRevert(tryFill(order, 1000n, { maxTakingAmount: 499n }), 'TakingAmountTooHigh', [500n, 499n]);
    expect(await tryFill(order, 1000n, { maxTakingAmount: 500n })).toBe(500n);
  });

  test('of nothing, or of an order with a zero amount, is refused', async () => {
    await expectRevert(tryFill(newOrder(), 0n), 'ZeroAmount');
    await expectRevert(tryFill(newOrder({ taking: { token: taking, amount: 0n } }), 1n), 'ZeroAmount');
    await expectRevert(tryFill(newOrder({ making: { token: making, amount: 0n } }), 1n), 'InsufficientRemaining');
  });

  test('of an order with a permitted taker is possible for that taker alone', async () => {
    const stranger = await chain.createAccount();
    await expectRevert(tryFill(newOrder({ permittedTaker: lower(stranger.address) }), 1n), 'TakerNotPermitted');
    expect(await tryFill(newOrder({ permittedTaker: lower(taker.address) }), 2n)).toBe(1n);
  });

  test('is possible in the second of expiry, and never after it', async () => {
    const now = (await chain.provider.getBlock('latest'))?.timestamp ?? 0;
    const order = newOrder({ expiresAt: BigInt(now) + 100n });
    await chain.provider.send('evm_setNextBlockTimestamp', [now + 100]);
    await fill(order, 1n);
    await chain.provider.send('evm_setNextBlockTimestamp', [now + 101]);
    const sent = await protocol.getFunction('fillOrder').send(order, sign(order), 1n, MaxUint256, GAS);
    await expect(sent.wait()).rejects.toMatchObject({ receipt: { status: 0 } });
    await expectRevert(tryFill(order, 1n), 'OrderExpired', [order.expiresAt]);
  });

  test('without balance or allowance reverts and records nothing', async () => {
    const poor = await chain.createAccount();
    const order = newOrder({ maker: lower(poor.address) });
    await expectRevert(tryFill(order, 1n, { signer: poor }), 'ERC20InsufficientAllowance');
    await send(token(making, poor), 'approve', protocolAddress, MaxUint256);
    await expectRevert(tryFill(order, 1n, { signer: poor }), 'ERC20InsufficientBalance');
    expect(await protocol.getFunction('filled')(hash(order))).toBe(0n);
  });

  test('of a token that answers false, or that has no code, reverts', async () => {
    await send(token(making, maker), 'setTransfersReturnFalse', true);
    await expectRevert(tryFill(newOrder(), 1n), 'SafeERC20FailedOperation');
    await send(token(making, maker), 'setTransfersReturnFalse', false);
    const nobody: Address = '0x00000000000000000000000000000000000000aa';
    await expectRevert(tryFill(newOrder({ making: { token: nobody, amount: 5n } }), 1n), 'SafeERC20FailedOperation');
  });

  test('cannot be entered again from a token’s transfer', async () => {
    const order = newOrder();
    const inner = protocol.interface.encodeFunctionData('fillOrder', [order, sign(order), 100n, MaxUint256]);
    await send(token(making, maker), 'setCallback', protocolAddress, inner);
    await fill(order, 100n);
    await send(token(making, maker), 'setCallback', ZERO_ADDRESS, '0x');
    const [succeeded, result] = await Promise.all([
      token(making, maker).getFunction('callbackSucceeded')(),
      token(making, maker).getFunction('callbackResult')(),
    ]);
    expect(succeeded).toBe(false);
    expect(result).toBe(protocol.interface.getError('ReentrancyGuardReentrantCall')?.selector);
    expect(await protocol.getFunction('remaining')(order)).toBe(900n);
  });
});

describe('a signature', () => {
  test('is accepted in every form that the service accepts', async () => {
    const order = newOrder();
    const signature = maker.signingKey.sign(hash(order));
    const rs = signature.r + signature.s.slice(2);
    for (const form of [signature.serialized, `${rs}0${signature.yParity}`, signature.compactSerialized]) {
      expect(await tryFill(order, 2n, { signature: form })).toBe(1n);
    }
  });

  test('is refused if its key, order, length or v is wrong, its s is high, or r and s are zero', async () => {
    const order = newOrder();
    const good = sign(order);
    const { r, s, v } = maker.signingKey.sign(hash(order));
    const highS = (CURVE_ORDER - BigInt(s)).toString(16).padStart(64, '0');
    const twin = `${r}${highS}${(55 - v).toString(16)}`;
    await expectRevert(tryFill(order, 1n, { signature: twin }), 'ECDSAInvalidSignatureS');
    await expectRevert(tryFill(order, 1n, { signer: taker }), 'InvalidSigner');
    await expectRevert(tryFill(order, 1n, { signature: sign(newOrder()) }), 'InvalidSigner');
    await expectRevert(tryFill({ ...order, salt: order.salt + 1n }, 1n, { signature: good }), 'InvalidSigner');
    await expectRevert(tryFill(order, 1n, { signature: '0x' }), 'InvalidSignatureLength');
    await expectRevert(tryFill(order, 1n, { signature: `${good}00` }), 'InvalidSignatureLength');
    await expectRevert(tryFill(order, 1n, { signature: `${good.slice(0, -2)}1d` }), 'ECDSAInvalidSignature');
    await expectRevert(tryFill(order, 1n, { signature: `0x${'00'.repeat(64)}1b` }), 'ECDSAInvalidSignature');
    const ofNobody = newOrder({ maker: ZERO_ADDRESS });
    await expectRevert(tryFill(ofNobody, 1n, { signature: `0x${'00'.repeat(65)}` }), 'ECDSAInvalidSignature');
  });
});

describe('the order of a contract wallet', () => {
  const ANSWERS = { honest: 0, reverts: 1, dirty: 2, short: 3 };
  const { abi } = deployArtifacts.TestWallet;
  let wallet: Contract;
  let order: Order;
  beforeAll(async () => {
    const address = await chain.deploy(deployArtifacts.TestWallet, maker.address);
    wallet = new Contract(address, abi, taker);
    await send(token(making, taker), 'mint', address, 1000n);
    const approval = token(making, taker).interface.encodeFunctionData('approve', [protocolAddress, MaxUint256]);
    await send(wallet, 'execute', making, approval);
    order = newOrder({ maker: address });
  });
  const refused = () => expectRevert(tryFill(order, 1n), 'WalletRefusesSignature');

  test('is filled with a signature that the wallet accepts, of any length', async () => {
    expect(protocolEvents(await fill(order, 2n))[0]?.[0]).toBe('OrderFilled');
    expect(await tryFill(order, 2n, { signature: `${sign(order)}${'ab'.repeat(1000)}` })).toBe(1n);
  });

  test('is refused with another signature, or once the wallet no longer accepts it', async () => {
    await expectRevert(tryFill(order, 1n, { signer: taker }), 'WalletRefusesSignature', [order.maker].map(getAddress));
    await expectRevert(tryFill(order, 1n, { signature: '0x' }), 'WalletRefusesSignature');
    await send(wallet, 'setOwner', taker.address);
    await refused();
    await send(wallet, 'setOwner', maker.address);
    expect(await tryFill(order, 2n)).toBe(1n);
  });

  test.each(['reverts', 'dirty', 'short'] as const)('is refused if the wallet answers badly: %s', async (how) => {
    await send(wallet, 'setAnswer', ANSWERS[how], 0n);
    await refused();
    await send(wallet, 'setAnswer', ANSWERS.honest, 0n);
  });

  test('is not filled if the wallet burns all the gas that it gets', async () => {
    await send(wallet, 'setAnswer', ANSWERS.honest, MaxUint256);
    const sent = await protocol.getFunction('fillOrder').send(order, sign(order), 1n, MaxUint256, GAS);
    await expect(sent.wait()).rejects.toMatchObject({ receipt: { status: 0 } });
    await send(wallet, 'setAnswer', ANSWERS.honest, 0n);
  });

  test('is filled without asking the wallet if the account’s own key signed it (EIP-7702)', async () => {
    const { provider } = chain;
    await provider.send('anvil_setCode', [maker.address, await provider.getCode(String(wallet.target))]);
    expect(await tryFill(newOrder(), 2n)).toBe(1n);
    await expectRevert(tryFill(newOrder(), 1n, { signer: taker }), 'WalletRefusesSignature');
    await provider.send('anvil_setCode', [maker.address, '0x']);
  });
});

describe('a cancellation', () => {
  test('by the maker ends the order with one event, and cannot be repeated', async () => {
    const order = newOrder();
    await fill(order, 100n);
    const own = protocol.connect(maker) as Contract;
    const receipt = await send(own, 'cancelOrder', order);
    expect(protocolEvents(receipt)).toEqual([['OrderCancelled', maker.address, hash(order)]]);
    expect(receipt.logs[0]?.topics.slice(1)).toEqual([word(maker.address), hash(order)]);
    expect(await protocol.getFunction('cancelled')(hash(order))).toBe(true);
    expect(await protocol.getFunction('remaining')(order)).toBe(0n);
    await expectRevert(tryFill(order, 1n), 'OrderIsCancelled', [hash(order)]);
    await expectRevert(own.getFunction('cancelOrder').staticCall(order), 'OrderIsCancelled', [hash(order)]);
    expect(await tryFill(newOrder(), 2n)).toBe(1n);
  });

  test('by anyone else is refused', async () => {
    await expectRevert(protocol.getFunction('cancelOrder').staticCall(newOrder()), 'NotMaker');
  });

  test('of all orders raises only the caller’s nonce, and ends every order below it', async () => {
    const other = await chain.createAccount();
    const old = newOrder({ maker: lower(other.address) });
    await send(token(making, other), 'mint', other.address, 1000n);
    await send(token(making, other), 'approve', protocolAddress, MaxUint256);
    expect(await tryFill(old, 2n, { signer: other })).toBe(1n);

    const receipt = await send(protocol.connect(other) as Contract, 'cancelAllOrders');
    expect(protocolEvents(receipt)).toEqual([['AllOrdersCancelled', other.address, 1n]]);
    expect(receipt.logs[0]?.topics.slice(1)).toEqual([word(other.address)]);
    expect(await protocol.getFunction('nonce')(other.address)).toBe(1n);
    expect(await protocol.getFunction('nonce')(maker.address)).toBe(0n);
    await expectRevert(tryFill(old, 2n, { signer: other }), 'OrderNonceChanged', [0n, 1n]);
    expect(await tryFill({ ...old, nonce: 1n }, 2n, { signer: other })).toBe(1n);
    await expectRevert(tryFill({ ...old, nonce: 2n }, 2n, { signer: other }), 'OrderNonceChanged', [2n, 1n]);
  });
});

function newOrder(change: Partial<Order> = {}): Order {
  salt += 1n;
  return {
    salt,
    nonce: 0n,
    expiresAt: 2n ** 40n,
    making: { token: making, amount: 1000n },
    taking: { token: taking, amount: 500n },
    maker: lower(maker.address),
    permittedTaker: ZERO_ADDRESS,
    ...change,
  };
}

function hash(order: Order): Hex {
  return bytesToHex(hasher.hashOrder(order));
}

function sign(order: Order, signer: BaseWallet = maker): string {
  return signer.signingKey.sign(hash(order)).serialized;
}

function tryFill(
  order: Order,
  amount: bigint,
  how: { signer?: BaseWallet; signature?: string; maxTakingAmount?: bigint } = {},
): Promise<bigint> {
  const signature = how.signature ?? sign(order, how.signer);
  return protocol.getFunction('fillOrder').staticCall(order, signature, amount, how.maxTakingAmount ?? MaxUint256);
}

function fill(order: Order, amount: bigint): Promise<ContractTransactionReceipt> {
  return send(protocol, 'fillOrder', order, sign(order), amount, MaxUint256);
}

async function send(contract: Contract, name: string, ...args: unknown[]): Promise<ContractTransactionReceipt> {
  const sent: ContractTransactionResponse = await contract.getFunction(name).send(...args, GAS);
  const receipt = await sent.wait();
  if (receipt === null) throw new Error('no receipt');
  return receipt;
}

function token(address: Address, wallet: BaseWallet): Contract {
  return new Contract(address, deployArtifacts.IllBehavedToken.abi, wallet);
}

async function balances() {
  const read = (address: Address, account: BaseWallet): Promise<bigint> =>
    token(address, account).getFunction('balanceOf')(account.address);
  return {
    makerMaking: await read(making, maker),
    makerTaking: await read(taking, maker),
    takerMaking: await read(making, taker),
    takerTaking: await read(taking, taker),
  };
}

function protocolEvents(receipt: ContractTransactionReceipt): unknown[][] {
  return receipt.logs
    .filter((log: Log) => log.address.toLowerCase() === protocolAddress)
    .map((log) => protocol.interface.parseLog(log))
    .map((event) => [event?.name, ...(event?.args.toArray() ?? [])]);
}

function lower(address: string): Address {
  return `0x${address.slice(2).toLowerCase()}`;
}

function word(address: string): string {
  return `0x${'0'.repeat(24)}${address.slice(2).toLowerCase()}`;
}
