import { setTimeout as pause } from 'node:timers/promises';
import { erc20Fragments } from '@makerbook/contracts-evm';
import { Interface, toBeHex } from 'ethers';

/** The tokens of the local chain, which anybody may mint. */
const erc20 = new Interface([...erc20Fragments, 'function mint(address,uint256)']);
const GAS = toBeHex(300_000);
const MINED_MS_MAX = 5_000;

/** The chain of a bench's stack: transactions of anybody, without their keys. */
export interface DrivenChain {
  /** Puts a transaction into the pool; answers with its hash. */
  send(from: string, token: string, method: 'mint' | 'approve' | 'transfer', ...words: unknown[]): Promise<string>;
  /** Mines a block now, beside the one that the stack mines each second. */
  mine(): Promise<void>;
  /** The number of the block that holds the transaction; waits for it. */
  blockOf(transaction: string): Promise<number>;
  /** When `newHeads` announced the block to this process, by `performance.now()`. */
  seenAt(blockNumber: number): Promise<number>;
  giveGas(address: string): Promise<void>;
  stop(): void;
}

/** @throws Error when the chain does not answer */
export async function driveChain(rpcUrl: string): Promise<DrivenChain> {
  let id = 0;
  const call = async (method: string, ...params: unknown[]): Promise<unknown> => {
    id += 1;
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
    });
    const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } };
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  const heads = await followHeads(rpcUrl.replace(/^http/, 'ws'));
  await call('anvil_autoImpersonateAccount', true);

  return {
    send: async (from, token, method, ...words) =>
      (await call('eth_sendTransaction', {
        from,
        to: token,
        gas: GAS,
        data: erc20.encodeFunctionData(method, words),
      })) as string,
    mine: async () => {
      await call('evm_mine');
    },
    blockOf: async (transaction) => {
      const deadline = performance.now() + MINED_MS_MAX;
      while (performance.now() < deadline) {
        const receipt = (await call('eth_getTransactionReceipt', transaction)) as {
          blockNumber: string;
          status: string;
        } | null;
        if (receipt?.status === '0x0') throw new Error(`transaction ${transaction} failed`);
        if (receipt !== null) return Number(receipt.blockNumber);
        await pause(5);
      }
      throw new Error(`transaction ${transaction} was not mined within ${MINED_MS_MAX} ms`);
    },
    seenAt: heads.seenAt,
    giveGas: async (address) => {
      await call('anvil_setBalance', address, toBeHex(10n ** 20n));
    },
    stop: heads.stop,
  };
}

interface Heads {
  seenAt(blockNumber: number): Promise<number>;
  stop(): void;
}

async function followHeads(url: string): Promise<Heads> {
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
    seenAt: async (number) => seen.get(number) ?? new Promise<number>((resolve) => waiting.set(number, resolve)),
    stop: () => socket.close(),
  };
}
