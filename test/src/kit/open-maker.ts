import { setTimeout as pause } from 'node:timers/promises';
import { createClient, type SignedOrder } from '@makerbook/client';
import { deployArtifacts, limitOrderProtocolFragments } from '@makerbook/contracts-evm';
import type { LimitOrderRecord } from '@makerbook/contracts-http';
import { Contract, type HDNodeWallet, JsonRpcProvider, toBeHex, Wallet } from 'ethers';
import { admitMaker } from './admit-maker.js';
import { eventually } from './eventually.js';
import { giveCoins, isDevelopmentChain } from './give-coins.js';
import type { OpenStack } from './open-stack.js';

const MINED_MS_MAX = 90_000;
const MINED_POLL_MS = 50;

/** The parts of a stack that a maker needs. */
export type MakersStack = Pick<OpenStack, 'operatorEnvironment'> & {
  readonly addresses: Pick<
    OpenStack['addresses'],
    'baseUrl' | 'rpcUrl' | 'chainId' | 'serviceName' | 'limitOrderProtocol' | 'tokens'
  >;
};

export type TestChain = ReturnType<typeof openChain>;

/**
 * Drives the chain of a stack for tests.
 * @param minesAtOnce if false, transactions wait for the block that the stack mines each second
 */
export function openChain({ addresses }: MakersStack, minesAtOnce = true) {
  const provider = new JsonRpcProvider(addresses.rpcUrl, undefined, { cacheTimeout: -1, pollingInterval: 100 });
  return {
    provider,
    /** Timestamp of the newest block, or the machine's clock if that is ahead, in seconds. */
    async nowSeconds(): Promise<number> {
      const block = await provider.getBlock('latest');
      return Math.max(Math.floor(Date.now() / 1000), block?.timestamp ?? 0);
    },
    /** Mines a block that many seconds after the newest one. */
    async warp(seconds: number): Promise<void> {
      await provider.send('evm_increaseTime', [toBeHex(seconds)]);
      await provider.send('evm_mine', []);
    },
    /** Mines a block now, unless transactions wait for the next one. */
    async mine(): Promise<void> {
      if (minesAtOnce && isDevelopmentChain) await provider.send('evm_mine', []);
    },
    stop: () => provider.destroy(),
  };
}

/** Terms of a test order. The rest have defaults. */
export interface Terms {
  readonly amount?: bigint;
  /** The amount that it wants in return. */
  readonly wanted?: bigint;
  readonly nonce?: bigint;
  /** Seconds after the chain's newest block. */
  readonly expiresIn?: number;
  /** Unix seconds, for when the chain cannot be asked. */
  readonly expiresAt?: number;
  /** Index of the sold token among the stack's tokens. */
  readonly token?: number;
  /** The token that it wants, if that is none of the stack's. */
  readonly wants?: string;
  readonly salt?: string;
}

/** Hash of a transaction that is in a block. */
type Mined = string;

export type TestMaker = Awaited<ReturnType<typeof openMaker>>;

/** Opens makers that one command of the operator admits. */
export async function openMakers(stack: MakersStack, chain: TestChain, count: number): Promise<TestMaker[]> {
  const wallets = Array.from({ length: count }, () => Wallet.createRandom(chain.provider));
  await admitMaker(
    wallets.map(({ address }) => address),
    stack.operatorEnvironment,
  );
  return Promise.all(wallets.map((wallet) => openMaker(stack, chain, wallet)));
}

/** Opens a maker that is on the whitelist, with coins for gas. */
async function openMaker({ addresses }: MakersStack, chain: TestChain, wallet: HDNodeWallet) {
  const taker = Wallet.createRandom(chain.provider);
  await Promise.all([wallet, taker].map(({ address }) => giveCoins(chain.provider, address)));
  const client = createClient({ ...addresses, signer: wallet, timeoutMs: 60_000 });
  const tokenAt = (index: number) => addresses.tokens[index]?.address ?? '';
  const erc20 = (index: number, holder: HDNodeWallet) =>
    new Contract(tokenAt(index), deployArtifacts.TestToken.abi, holder);
  const wrapped = (index: number) => new Contract(tokenAt(index), deployArtifacts.WrappedNative.abi, wallet);
  const protocol = new Contract(addresses.limitOrderProtocol, limitOrderProtocolFragments, wallet);

  const send = async (contract: Contract, method: string, ...args: unknown[]): Promise<Mined> => {
    const transaction = await contract.getFunction(method).send(...args);
    await chain.mine();
    await minedOf(chain.provider, transaction.hash);
    return transaction.hash;
  };
  const sign = async ({
    amount = 100n,
    wanted = 50n,
    nonce = 0n,
    expiresIn = 3600,
    expiresAt,
    token = 0,
    wants = tokenAt(token === 0 ? 1 : 0),
    salt,
  }: Terms = {}) =>
    client.signOrder({
      making: { token: tokenAt(token), amount },
      taking: { token: wants, amount: wanted },
      nonce,
      ...(salt !== undefined && { salt }),
      expiresAt: expiresAt ?? (await chain.nowSeconds()) + expiresIn,
    });
  /** The status of each order, like `ACTIVE` or `INACTIVE INSUFFICIENT_BALANCE`. `gone` if it is not listed. */
  const statuses = async (...orders: readonly SignedOrder[]): Promise<string[]> => {
    const { records } = await client.listOrders();
    return orders.map(({ orderHash }) => say(records.find((record) => record.orderHash === orderHash)));
  };
  return {
    wallet,
    client,
    sign,
    statuses,
    tokenAt,
    /** Signs and posts orders. Returns them. */
    async place(...terms: Terms[]): Promise<SignedOrder[]> {
      const orders = await Promise.all(terms.map(sign));
      await client.placeOrders(orders);
      return orders;
    },
    /** Waits until the list has these statuses. */
    lists: (orders: readonly SignedOrder[], expected: readonly string[]) =>
      eventually(() => statuses(...orders), expected),
    mint: (amount: bigint, token = 0) => send(erc20(token, wallet), 'mint', wallet.address, amount),
    approve: (amount: bigint, token = 0) => send(erc20(token, wallet), 'approve', addresses.limitOrderProtocol, amount),
    /** Sends tokens away. */
    spend: (amount: bigint, token = 0) => send(erc20(token, wallet), 'transfer', taker.address, amount),
    /** Turns coins into a wrapped native token. `withdraw` turns it back. */
    deposit: (amount: bigint, token: number) => send(wrapped(token), 'deposit', { value: amount }),
    withdraw: (amount: bigint, token: number) => send(wrapped(token), 'withdraw', amount),
    cancelOnChain: ({ order }: SignedOrder) => send(protocol, 'cancelOrder', order),
    cancelAllOnChain: () => send(protocol, 'cancelAllOrders'),
    /** A stranger fills part of the order. */
    async fill({ order, signature }: SignedOrder, makingAmount: bigint): Promise<Mined> {
      const wanted = erc20(order.taking.token === tokenAt(0) ? 0 : 1, taker);
      await send(wanted, 'mint', taker.address, 1_000n);
      await send(wanted, 'approve', addresses.limitOrderProtocol, 1_000n);
      return send(protocol.connect(taker) as Contract, 'fillOrder', order, signature, makingAmount, 1_000n);
    },
  };
}

/**
 * Waits until the transaction is in a block. Does not use its `wait`: there nobody can catch an error of the node, so
 * an unavailable node would end the process.
 * @throws Error if it was reverted, or the node does not answer
 */
async function minedOf(provider: JsonRpcProvider, hash: string): Promise<void> {
  const deadline = performance.now() + MINED_MS_MAX;
  for (;;) {
    const receipt = await provider.getTransactionReceipt(hash);
    if (receipt?.status === 1) return;
    if (receipt !== null) throw new Error(`the transaction ${hash} was reverted`);
    if (performance.now() > deadline)
      throw new Error(`the transaction ${hash} is in no block after ${MINED_MS_MAX} ms`);
    await pause(MINED_POLL_MS);
  }
}

function say(record: LimitOrderRecord | undefined): string {
  if (record === undefined) return 'gone';
  return record.status === 'INACTIVE' ? `${record.status} ${record.reason}` : record.status;
}
