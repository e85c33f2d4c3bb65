import { setTimeout as pause } from 'node:timers/promises';
import type { BookEntry } from '@makerbook/contracts-events';
import { bytesToHex, createOrderHasher, deployArtifacts, type Order, orderToBody } from '@makerbook/contracts-evm';
import { startTestChain } from '@makerbook/contracts-evm/testing';
import { type Address, type Hex, quantity, ZERO_ADDRESS } from '@makerbook/contracts-primitives';
import { type BaseWallet, Contract, Interface, MaxUint256, type TransactionReceipt, toQuantity } from 'ethers';

const SERVICE_NAME = 'Market';
const GAS_LIMIT = 30_000_000;

export type TokenName = 'TestToken' | 'IllBehavedToken' | 'FeeOnTransferToken';

/** A chain with the protocol, an OrderFiller, and a taker who has approved it. */
export async function openMarket() {
  const chain = await startTestChain();
  const { provider } = chain;
  const protocolAddress = await chain.deploy(deployArtifacts.LimitOrderProtocol, SERVICE_NAME);
  const filler = await chain.deploy(deployArtifacts.OrderFiller, protocolAddress);
  const protocol = new Contract(protocolAddress, deployArtifacts.LimitOrderProtocol.abi, provider);
  const hasher = createOrderHasher({ serviceName: SERVICE_NAME, chainId: 8217, verifyingContract: protocolAddress });
  const taker = await chain.createAccount();
  await provider.send('anvil_autoImpersonateAccount', [true]);
  // Make room for many fills in one block.
  await provider.send('evm_setBlockGasLimit', ['0x3b9aca00']);
  const tokenAbi = new Interface(deployArtifacts.IllBehavedToken.abi);
  let salt = 0n;

  /** Sends without waiting for a block. */
  const post = (from: string, to: string, data: string, gas = GAS_LIMIT): Promise<Hex> =>
    provider.send('eth_sendTransaction', [{ from, to, data, gas: toQuantity(gas), gasPrice: '0xba43b7400' }]);
  /** Waits until the transaction is mined. */
  async function receiptOf(hash: Hex): Promise<TransactionReceipt> {
    for (;;) {
      const receipt = await provider.getTransactionReceipt(hash);
      if (receipt !== null) return receipt;
      await pause(10);
    }
  }

  return {
    provider,
    protocol,
    filler,
    taker,
    stop: () => chain.stop(),
    createMaker: () => chain.createAccount(),
    deployToken: (name: TokenName) => chain.deploy(deployArtifacts[name], name, 'T', 18),
    post,
    receiptOf,
    /** Calls a token, the protocol or the filler in a block of its own. */
    send: async (from: string, to: string, data: string, gas?: number) => receiptOf(await post(from, to, data, gas)),
    tokenCall: (name: string, ...args: unknown[]) => tokenAbi.encodeFunctionData(name, args),
    approveAll: (spender: string) => tokenAbi.encodeFunctionData('approve', [spender, MaxUint256]),
    balanceOf: (token: Address, account: string): Promise<bigint> =>
      new Contract(token, tokenAbi, provider).getFunction('balanceOf')(account),
    /** An order of the maker as in the feed while nothing of it is filled. */
    createEntry(maker: BaseWallet, making: Order['making'], taking: Order['taking'], acceptedAtMs = 0): BookEntry {
      salt += 1n;
      const address: Address = `0x${maker.address.slice(2).toLowerCase()}`;
      const order = {
        salt,
        nonce: 0n,
        expiresAt: 2n ** 40n,
        making,
        taking,
        maker: address,
        permittedTaker: ZERO_ADDRESS,
      };
      const orderHash = bytesToHex(hasher.hashOrder(order));
      return {
        type: 'BookEntry',
        orderHash,
        order: orderToBody(order),
        signature: maker.signingKey.sign(orderHash).serialized as Hex,
        remainingMakingAmount: quantity(making.amount),
        routableUntil: 2 ** 40,
        acceptedAtMs,
        position: { partition: 3, offset: '0' },
        causes: ['OBSERVED'],
        status: 'VALIDATING',
      };
    },
    /** The fills of a receipt: hash, making amount and taking amount of each. */
    fillsIn: (logs: readonly { address: string; topics: readonly string[]; data: string }[]) =>
      logs
        .filter(({ address }) => address.toLowerCase() === protocolAddress)
        .map((log) => protocol.interface.parseLog(log)?.args)
        .map((args) => [args?.[1], args?.[3], args?.[4]]),
  };
}
