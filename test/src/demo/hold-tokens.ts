import { erc20Fragments, limitOrderProtocolFragments } from '@makerbook/contracts-evm';
import { Contract, type HDNodeWallet, JsonRpcProvider, parseEther, toBeHex, Wallet } from 'ethers';
import type { Stack } from './read-stack.js';

/** The maker's side of the chain: a fresh key with coins for gas, and the contracts that it calls. */
export interface Holdings {
  readonly wallet: HDNodeWallet;
  /** Mints tokens to the maker, by the public `mint` of the test tokens. */
  mint(token: string, amount: bigint): Promise<void>;
  approve(token: string, amount: bigint): Promise<void>;
  /** Gives tokens to a friend, who gives them back when asked. */
  lend(token: string, amount: bigint): Promise<void>;
  takeBack(token: string, amount: bigint): Promise<void>;
  /** Calls `cancelOrder` of the LimitOrderProtocol contract. */
  cancelOrder(order: object): Promise<void>;
  /** Calls `cancelAllOrders`, and tells the new nonce. */
  cancelAllOrders(): Promise<bigint>;
  stop(): void;
}

/** @throws Error when the chain does not answer, or gives no coins away */
export async function holdTokens({ rpcUrl, limitOrderProtocol }: Stack): Promise<Holdings> {
  const provider = new JsonRpcProvider(rpcUrl, undefined, { cacheTimeout: -1, pollingInterval: 250 });
  const wallet = Wallet.createRandom(provider);
  const friend = Wallet.createRandom(provider);
  for (const { address } of [wallet, friend]) {
    await provider.send('anvil_setBalance', [address, toBeHex(parseEther('10'))]);
  }
  const erc20 = (token: string, holder: HDNodeWallet) =>
    new Contract(token, [...erc20Fragments, 'function mint(address,uint256)'], holder);
  const protocol = new Contract(limitOrderProtocol, limitOrderProtocolFragments, wallet);

  async function send(contract: Contract, method: string, ...args: unknown[]): Promise<void> {
    const transaction = await contract.getFunction(method).send(...args);
    await transaction.wait();
  }

  return {
    wallet,
    mint: (token, amount) => send(erc20(token, wallet), 'mint', wallet.address, amount),
    approve: (token, amount) => send(erc20(token, wallet), 'approve', limitOrderProtocol, amount),
    lend: (token, amount) => send(erc20(token, wallet), 'transfer', friend.address, amount),
    takeBack: (token, amount) => send(erc20(token, friend), 'transfer', wallet.address, amount),
    cancelOrder: (order) => send(protocol, 'cancelOrder', order),
    async cancelAllOrders() {
      await send(protocol, 'cancelAllOrders');
      return (await protocol.getFunction('nonce').staticCall(wallet.address)) as bigint;
    },
    stop: () => provider.destroy(),
  };
}
