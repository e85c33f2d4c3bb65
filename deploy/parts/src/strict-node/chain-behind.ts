import { type BlockFields, type Forward, hexOf, RuledAnswers } from './apply-rules.js';
import type { NodeRules } from './node-rules.js';
import type { AskedCall, RpcAnswer } from './serve-rpc.js';

const SENDS = new Set(['eth_sendRawTransaction', 'eth_sendTransaction']);
const MAKES_BLOCKS = new Set([...SENDS, 'anvil_mine', 'evm_mine', 'evm_revert']);
/** Give up after this long: a transaction that waits for another one is in no block yet. */
const MINED_MS_MAX = 30_000;
/** If many blocks are made at once, announce about this many of the newest. */
const ANNOUNCED_MAX = 100;

/**
 * Asks anvil, but mines no block while somebody reads, and lets nobody read while one is mined. If anvil mines a block
 * during a read of the newest one, by hash or not, it answers with the state after the mined block. A node of Kaia does
 * not.
 */
export class ChainBehind {
  /** Called with the header of each block as soon as it is there. */
  readonly listeners = new Set<(header: BlockFields) => void>();
  readonly #url: string;
  readonly #baseFee: string | undefined;
  readonly #ruled: RuledAnswers;
  #reading = 0;
  #making: Promise<unknown> = Promise.resolve();
  #makers = 0;
  #onQuiet: () => void = () => undefined;

  constructor(url: string, rules: NodeRules) {
    this.#url = url;
    this.#baseFee = rules.baseFeeMin === undefined ? undefined : hexOf(rules.baseFeeMin);
    this.#ruled = new RuledAnswers(rules, this.#forward);
  }

  /** @param visible see {@link RuledAnswers.answer} */
  async answer(calls: readonly AskedCall[], visible?: (head: number) => number) {
    const work = () => this.#ruled.answer(calls, visible);
    return calls.some(({ method }) => MAKES_BLOCKS.has(method)) ? this.#make(calls, work) : this.#read(work);
  }

  /** Returns the header of a block. */
  header(number: number): Promise<BlockFields | undefined> {
    return this.#read(async () => (await this.#headers(number, number))[0]);
  }

  async #read<T>(work: () => Promise<T>): Promise<T> {
    while (this.#makers > 0) await this.#making;
    this.#reading += 1;
    try {
      return await work();
    } finally {
      this.#reading -= 1;
      if (this.#reading === 0) this.#onQuiet();
    }
  }

  async #make<T extends readonly RpcAnswer[] | { readonly status: number }>(
    calls: readonly AskedCall[],
    work: () => Promise<T>,
  ): Promise<T> {
    this.#makers += 1;
    const made = this.#making.then(async () => {
      if (this.#reading > 0) {
        await new Promise<void>((resolve) => {
          this.#onQuiet = resolve;
        });
      }
      return this.#makeAlone(calls, work);
    });
    this.#making = made.catch(() => undefined);
    try {
      return await made;
    } finally {
      this.#makers -= 1;
    }
  }

  async #makeAlone<T extends readonly RpcAnswer[] | { readonly status: number }>(
    calls: readonly AskedCall[],
    work: () => Promise<T>,
  ): Promise<T> {
    const fee = { id: 2, method: 'anvil_setNextBlockBaseFeePerGas', params: [this.#baseFee] };
    const [before, isMinedAtOnce] = await this.#forward([
      { id: 0, method: 'eth_blockNumber', params: [] },
      { id: 1, method: 'anvil_getAutomine', params: [] },
      ...(this.#baseFee === undefined ? [] : [fee]),
    ]);
    const answers = await work();
    if (isMinedAtOnce?.result === true && !('status' in answers)) {
      for (const [at, { result }] of answers.entries()) {
        if (SENDS.has(calls[at]?.method ?? '') && typeof result === 'string') await this.#untilMined(result);
      }
    }
    if (this.listeners.size > 0) await this.#announce(Number(before?.result));
    return answers;
  }

  async #announce(before: number): Promise<void> {
    const [head] = await this.#forward([{ id: 0, method: 'eth_blockNumber', params: [] }]);
    const newest = Number(head?.result);
    for (const header of await this.#headers(Math.max(before + 1, newest - ANNOUNCED_MAX), newest)) {
      for (const listener of this.listeners) listener(header);
    }
  }

  async #headers(from: number, to: number): Promise<readonly BlockFields[]> {
    if (to < from) return [];
    const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    const asked = numbers.map((number, id) => {
      return { id, method: 'eth_getBlockByNumber', params: [hexOf(number), false] };
    });
    const answers = await this.#forward(asked);
    return answers.flatMap(({ result }) => (result ? [this.#ruled.headerOf(result as BlockFields)] : []));
  }

  async #untilMined(hash: string): Promise<void> {
    const deadline = Date.now() + MINED_MS_MAX;
    const isMined = async () => {
      const [answer] = await this.#forward([{ id: 1, method: 'eth_getTransactionReceipt', params: [hash] }]);
      return answer?.result !== null;
    };
    while (!(await isMined()) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  readonly #forward: Forward = (calls) => forwardTo(this.#url, calls);
}

/** Asks a node these calls in one batch. */
export async function forwardTo(url: string, calls: readonly AskedCall[]): Promise<readonly RpcAnswer[]> {
  if (calls.length === 0) return [];
  const body = JSON.stringify(calls.map((call) => ({ jsonrpc: '2.0', ...call })));
  // Reuse connections: the node does not close idle ones.
  const headers = { 'content-type': 'application/json', connection: 'keep-alive' };
  const answered = await fetch(url, { method: 'POST', headers, body });
  return (await answered.json()) as RpcAnswer[];
}
