import { type AnvilPart, startAnvil } from '@makerbook/local-stack';

type Hex = `0x${string}`;

export interface Head {
  readonly number: number;
  /** Seconds. */
  readonly timestamp: number;
}

export interface Call {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** A transaction of an account whose key nobody needs: the chain takes it as it is. */
export interface Transaction {
  readonly from: string;
  readonly to?: string;
  readonly data?: string;
  readonly value?: bigint;
}

/** A chain that makes a block when it is told to, and not before. Its clock runs an hour ahead, by the blocks alone. */
export interface Chain {
  readonly rpcUrl: string;
  readonly wsUrl: string;
  /** The newest block. */
  head(): Head;
  ask(method: string, ...params: unknown[]): Promise<unknown>;
  /** Many calls in one round trip; undefined for each that fails. */
  askAll(calls: readonly Call[]): Promise<unknown[]>;
  /** Leaves a transaction for the next block. It may revert there. */
  send(transaction: Transaction): Promise<Hex>;
  /** Makes a block of all that was sent, so many seconds after the one before. */
  mine(seconds: number): Promise<Head>;
  stop(): Promise<void>;
}

const GAS = '0xf4240';
const CREATION_GAS = '0x2dc6c0';
const HOUR_SECONDS = 3600;
const CALLS_MAX = 400;

/** @param prepare is called while each transaction still makes a block of its own */
export async function openChain(prepare: (rpcUrl: string) => Promise<void>): Promise<Chain> {
  const anvil: AnvilPart = await startAnvil({ extraArgs: ['--disable-block-gas-limit'] });
  const { rpcUrl, wsUrl } = anvil;
  let head: Head = { number: 0, timestamp: 0 };

  async function post(body: unknown): Promise<unknown> {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(rpcUrl, { method: 'POST', headers, body: JSON.stringify(body) });
    return response.json();
  }
  async function ask(method: string, ...params: unknown[]): Promise<unknown> {
    const { result, error } = (await post({ jsonrpc: '2.0', id: 1, method, params })) as Answer;
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }
  async function askAll(calls: readonly Call[]): Promise<unknown[]> {
    const results: unknown[] = [];
    for (let from = 0; from < calls.length; from += CALLS_MAX) {
      const batch = calls.slice(from, from + CALLS_MAX).map((call, id) => ({ jsonrpc: '2.0', id, ...call }));
      const answers = (await post(batch)) as Answer[];
      for (const { id, result } of answers) results[from + id] = result;
    }
    return results;
  }
  async function mine(seconds: number): Promise<Head> {
    await ask('evm_setNextBlockTimestamp', head.timestamp + seconds);
    await ask('evm_mine');
    return readHead();
  }
  async function readHead(): Promise<Head> {
    const block = (await ask('eth_getBlockByNumber', 'latest', false)) as { number: string; timestamp: string };
    head = { number: Number(block.number), timestamp: Number(block.timestamp) };
    return head;
  }

  try {
    await prepare(rpcUrl);
    await ask('evm_setAutomine', false);
    await ask('anvil_autoImpersonateAccount', true);
    await readHead();
    await mine(HOUR_SECONDS);
  } catch (error) {
    await anvil.stop();
    throw error;
  }
  return {
    rpcUrl,
    wsUrl,
    head: () => head,
    ask,
    askAll,
    mine,
    async send({ from, to, data, value = 0n }) {
      const gas = to === undefined ? CREATION_GAS : GAS;
      return (await ask('eth_sendTransaction', { from, to, data, value: `0x${value.toString(16)}`, gas })) as Hex;
    },
    stop: () => anvil.stop(),
  };
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}
