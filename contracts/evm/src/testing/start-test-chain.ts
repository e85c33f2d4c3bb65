import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import type { Address } from '@makerbook/contracts-primitives';
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
  readonly provider: JsonRpcProvider;
  /** A new random account with coins. */
  createAccount(): Promise<BaseWallet>;
  /** Deploys from an account of its own, and gives the lowercase address. */
  deploy(artifact: { readonly abi: InterfaceAbi; readonly bytecode: string }, ...args: unknown[]): Promise<Address>;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 90_000;

/**
 * Hands a transaction back once its block is there. `wait` alone may look just before it, and then again only with the
 * next block, which nobody makes here.
 */
class MinedProvider extends JsonRpcProvider {
  override async broadcastTransaction(signed: string): Promise<TransactionResponse> {
    const sent = await super.broadcastTransaction(signed);
    while ((await this.getTransactionReceipt(sent.hash)) === null) await delay(10);
    return sent;
  }
}

/** Starts anvil on a free port, with a block per transaction. */
export async function startTestChain(): Promise<TestChain> {
  const require = createRequire(createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json'));
  const binary = require.resolve(
    `@foundry-rs/anvil-${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}/bin/anvil`,
  );
  const child = spawn(binary, ['--port', '0', '--chain-id', '8217', '--hardfork', 'cancun'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const port = await new Promise<number>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('anvil did not start')), START_TIMEOUT_MS);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`anvil exited with ${code}`)));
    createInterface(child.stdout).on('line', (line) => {
      const match = /^Listening on .*:(\d+)$/.exec(line);
      if (match === null) return;
      clearTimeout(timer);
      resolve(Number(match[1]));
    });
  });
  const provider = new MinedProvider(`http://127.0.0.1:${port}`, 8217, { staticNetwork: true, cacheTimeout: -1 });
  provider.pollingInterval = 20;

  async function createAccount(): Promise<BaseWallet> {
    const wallet = Wallet.createRandom(provider);
    await provider.send('anvil_setBalance', [wallet.address, '0x3635c9adc5dea00000']);
    return wallet;
  }
  const deployer = await createAccount();

  return {
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
      child.kill();
      await exited;
    },
  };
}
