import { setTimeout as delay } from 'node:timers/promises';
import type { Address } from '@makerbook/contracts-primitives';
import { type AnvilPart, startAnvil } from '@makerbook/parts';
import {
  type BaseWallet,
  ContractFactory,
  type InterfaceAbi,
  JsonRpcProvider,
  type TransactionResponse,
  Wallet,
} from 'ethers';

/** A real chain for live tests: anvil under Kaia's chain id and the EVM version that the bytecode is compiled for. */
export interface TestChain {
  readonly anvil: AnvilPart;
  readonly provider: JsonRpcProvider;
  /** A new random account with coins. */
  createAccount(): Promise<BaseWallet>;
  /** Deploys from the chain's own deployer account. @returns the address in lowercase */
  deploy(artifact: { readonly abi: InterfaceAbi; readonly bytecode: string }, ...args: unknown[]): Promise<Address>;
  stop(): Promise<void>;
}

/**
 * Returns a transaction once its block is there. `wait` alone may look just before the block. It would look again only
 * at the next block, which nobody makes here.
 */
class MinedProvider extends JsonRpcProvider {
  override async broadcastTransaction(signed: string): Promise<TransactionResponse> {
    const sent = await super.broadcastTransaction(signed);
    while ((await this.getTransactionReceipt(sent.hash)) === null) await delay(10);
    return sent;
  }
}

/** Starts anvil, with a block per transaction. */
export async function startTestChain(): Promise<TestChain> {
  const anvil = await startAnvil();
  const provider = new MinedProvider(anvil.rpcUrl, 8217, { staticNetwork: true, cacheTimeout: -1 });
  provider.pollingInterval = 20;

  async function createAccount(): Promise<BaseWallet> {
    const wallet = Wallet.createRandom(provider);
    await provider.send('anvil_setBalance', [wallet.address, '0x3635c9adc5dea00000']);
    return wallet;
  }
  const deployer = await createAccount();

  return {
    anvil,
    provider,
    createAccount,
    async deploy(artifact, ...args) {
      const factory = new ContractFactory(artifact.abi, artifact.bytecode, deployer);
      const contract = await factory.deploy(...args);
      await contract.waitForDeployment();
      return `0x${(await contract.getAddress()).slice(2).toLowerCase()}`;
    },
    async stop() {
      provider.destroy();
      await anvil.stop();
    },
  };
}
