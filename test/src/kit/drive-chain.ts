import { deployArtifacts } from '@makerbook/contracts-evm';
import { Interface, JsonRpcProvider, toBeHex } from 'ethers';

/** The tokens of the local chain, which anybody may mint. */
const erc20 = new Interface(deployArtifacts.TestToken.abi);
const GAS = toBeHex(300_000);
const MINED_MS_MAX = 30_000;

/** The chain of a bench's stack. It takes transactions of any account, without the account's key. */
export type DrivenChain = Awaited<ReturnType<typeof driveChain>>;

/** @throws Error when the chain does not answer */
export async function driveChain(rpcUrl: string) {
  // Send each call at once, by itself.
  const provider = new JsonRpcProvider(rpcUrl, undefined, { cacheTimeout: -1, batchMaxCount: 1, pollingInterval: 20 });
  const heads = await followHeads(rpcUrl.replace(/^http/, 'ws'));
  await provider.send('anvil_autoImpersonateAccount', [true]);

  return {
    /** Puts a transaction into the pool. Returns its hash. */
    send: (from: string, to: string, method: 'mint' | 'approve' | 'transfer', ...words: unknown[]): Promise<string> =>
      provider.send('eth_sendTransaction', [{ from, to, gas: GAS, data: erc20.encodeFunctionData(method, words) }]),
    /** Mines a block now, beside the one that the stack mines each second. */
    mine: (): Promise<unknown> => provider.send('evm_mine', []),
    /** Waits for the block that holds the transaction. Returns its number. */
    async blockOf(transaction: string): Promise<number> {
      const receipt = await provider.waitForTransaction(transaction, 1, MINED_MS_MAX);
      if (receipt?.status !== 1) throw new Error(`transaction ${transaction} failed`);
      return receipt.blockNumber;
    },
    /** When `newHeads` announced the block to this process, by `performance.now()`. */
    seenAt: heads.seenAt,
    giveGas: (address: string): Promise<unknown> => provider.send('anvil_setBalance', [address, toBeHex(10n ** 20n)]),
    stop() {
      heads.stop();
      provider.destroy();
    },
  };
}

async function followHeads(url: string) {
  const seen = new Map<number, number>();
  const waiting = new Map<number, (at: number) => void>();
  const socket = new WebSocket(url);
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('error', () => reject(new Error(`${url} cannot be reached`)));
    socket.addEventListener('open', () =>
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] })),
    );
    socket.addEventListener('message', ({ data }) => {
      const at = performance.now();
      const { id, params } = JSON.parse(String(data)) as { id?: number; params?: { result: { number: string } } };
      if (id === 1) resolve();
      if (params === undefined) return;
      const number = Number(params.result.number);
      seen.set(number, at);
      waiting.get(number)?.(at);
      waiting.delete(number);
    });
  });
  return {
    seenAt: async (number: number) =>
      seen.get(number) ?? new Promise<number>((resolve) => waiting.set(number, resolve)),
    stop: () => socket.close(),
  };
}
