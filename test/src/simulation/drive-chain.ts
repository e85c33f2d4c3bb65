import type { Hex } from '@makerbook/contracts-primitives';
import { type AnvilPart, startAnvil } from '@makerbook/parts';
import { openNodeGate } from './gate-node.js';
import { openSpareNode, type SpareNode } from './spare-node.js';

export interface Head {
  readonly number: number;
  /** Seconds. */
  readonly timestamp: number;
}

export interface Call {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** A block that was just made, and what became of the transactions in it. */
export interface Made extends Head {
  readonly outcomes: readonly { readonly hash: string; readonly isReverted: boolean }[];
}

/** A transaction of an account whose key nobody needs: the chain takes it as it is. */
export interface Transaction {
  readonly from: string;
  readonly to?: string;
  readonly data?: string;
  readonly value?: bigint;
}

/** A chain that makes a block on request, and not before. Its clock runs an hour ahead, by the blocks alone. */
export interface Chain {
  /** Reads of a block are exact here, see `NodeGate`. */
  readonly rpcUrl: string;
  /** Another node of the chain, which may fail or lag. */
  readonly spare: SpareNode;
  /** Announces new blocks. */
  readonly wsUrl: string;
  /** The newest block. */
  head(): Head;
  /** One that was made with `mine`. */
  headOf(block: number): Head;
  ask(method: string, ...params: unknown[]): Promise<unknown>;
  /** Many calls in one round trip; undefined for each that fails. */
  askAll(calls: readonly Call[]): Promise<unknown[]>;
  /** Leaves a transaction for the next block. It may revert there. */
  send(transaction: Transaction): Promise<Hex>;
  /** Makes a block of all that was sent, so many seconds after the one before. */
  mine(seconds: number): Promise<Made>;
  stop(): Promise<void>;
}

const GAS = '0xf4240';
const CREATION_GAS = '0x2dc6c0';
const HOUR_SECONDS = 3600;
const CALLS_MAX = 400;

/** @param prepare is called while each transaction still makes a block of its own */
export async function openChain(prepare: (rpcUrl: string) => Promise<void>): Promise<Chain> {
  const anvil: AnvilPart = await startAnvil({ extraArgs: ['--disable-block-gas-limit'] });
  const gate = await openNodeGate(anvil.rpcUrl);
  let head: Head = { number: 0, timestamp: 0 };
  const heads = new Map<number, Head>();
  const numbers = new Map<string, number>();
  const spare = await openSpareNode(gate, {
    headNumber: () => head.number,
    numberOf: (blockHash) => numbers.get(blockHash),
  });

  async function ask(method: string, ...params: unknown[]): Promise<unknown> {
    return resultOf(method, await gate.ask(bodyOf(method, ...params)));
  }
  async function askAll(calls: readonly Call[]): Promise<unknown[]> {
    const results: unknown[] = [];
    for (let from = 0; from < calls.length; from += CALLS_MAX) {
      const batch = calls.slice(from, from + CALLS_MAX).map((call, id) => ({ jsonrpc: '2.0', id, ...call }));
      const answers = JSON.parse(await gate.ask(JSON.stringify(batch))) as Answer[];
      for (const { id, result } of answers) results[from + id] = result;
    }
    return results;
  }
  async function stop(): Promise<void> {
    await spare.close();
    await gate.close();
    await anvil.stop();
  }
  async function mine(seconds: number): Promise<Made> {
    await gate.alone(async (askAlone) => {
      const at = head.timestamp + seconds;
      resultOf('evm_setNextBlockTimestamp', await askAlone(bodyOf('evm_setNextBlockTimestamp', at)));
      resultOf('evm_mine', await askAlone(bodyOf('evm_mine')));
    });
    const { number, timestamp } = await readHead();
    const receipts = (await ask('eth_getBlockReceipts', `0x${number.toString(16)}`)) as Receipt[];
    const outcomes = receipts.map(({ transactionHash, status }) => ({
      hash: transactionHash,
      isReverted: status !== '0x1',
    }));
    return { number, timestamp, outcomes };
  }
  async function readHead(): Promise<Head> {
    const block = (await ask('eth_getBlockByNumber', 'latest', false)) as Record<
      'number' | 'hash' | 'timestamp',
      string
    >;
    head = { number: Number(block.number), timestamp: Number(block.timestamp) };
    heads.set(head.number, head);
    numbers.set(block.hash, head.number);
    return head;
  }

  try {
    await prepare(gate.url);
    await ask('evm_setAutomine', false);
    await ask('anvil_autoImpersonateAccount', true);
    await readHead();
    await mine(HOUR_SECONDS);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    rpcUrl: gate.url,
    spare,
    wsUrl: anvil.wsUrl,
    head: () => head,
    headOf(block) {
      const known = heads.get(block);
      if (known === undefined) throw new Error(`block ${block} was not made here`);
      return known;
    },
    ask,
    askAll,
    mine,
    async send({ from, to, data, value = 0n }) {
      const gas = to === undefined ? CREATION_GAS : GAS;
      return (await ask('eth_sendTransaction', { from, to, data, value: `0x${value.toString(16)}`, gas })) as Hex;
    },
    stop,
  };
}

function bodyOf(method: string, ...params: unknown[]): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
}

function resultOf(method: string, text: string): unknown {
  const { result, error } = JSON.parse(text) as Answer;
  if (error !== undefined) throw new Error(`${method}: ${error.message}`);
  return result;
}

interface Receipt {
  readonly transactionHash: string;
  readonly status: string;
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}
