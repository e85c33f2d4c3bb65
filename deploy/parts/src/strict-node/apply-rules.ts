import type { NodeRules } from './node-rules.js';
import type { AskedCall, RpcAnswer, RpcError } from './serve-rpc.js';

/** Asks the chain behind the node. */
export type Forward = (calls: readonly AskedCall[]) => Promise<readonly RpcAnswer[]>;
export type BlockFields = Readonly<Record<string, unknown>>;

/** The index of the parameter that names the block, keyed by method. */
const BLOCK_AT: Readonly<Record<string, number>> = {
  eth_call: 1,
  eth_estimateGas: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_getTransactionCount: 1,
  eth_getStorageAt: 2,
};
const BLOCKS = new Set(['eth_getBlockByNumber', 'eth_getBlockByHash']);
const RECEIPTS = new Set(['eth_getTransactionReceipt', 'eth_getBlockReceipts']);
const NAMED = new Set(['latest', 'pending', 'safe', 'finalized']);

/** Answers as a node with these rules does. Its limits, error messages and headers differ from anvil's. */
export class RuledAnswers {
  readonly #rules: NodeRules;
  readonly #forward: Forward;
  /** Block numbers, keyed by the hashes that calls have named. */
  readonly #numbers = new Map<string, number>();

  constructor(rules: NodeRules, forward: Forward) {
    this.#rules = rules;
    this.#forward = forward;
  }

  /** @param visible returns the newest block that the node knows of a chain with this head; undefined: the head */
  async answer(
    calls: readonly AskedCall[],
    visible?: (head: number) => number,
  ): Promise<readonly RpcAnswer[] | { readonly status: number }> {
    if (calls.length > this.#rules.batchMax) {
      return calls.map(({ id }) => ({ id, error: { code: -32600, message: 'batch too large' } }));
    }
    await this.#learnHashes(calls);
    if (visible !== undefined) {
      const head = visible(await this.#head());
      const answers = await this.#forward(calls.map((call) => before(head, this.#capped(call))));
      return answers.map((answer, at) => this.#ruled(calls[at], answer, head));
    }
    const asked = [HEAD, ...calls.map((call) => this.#capped(call))];
    const [newest, ...answers] = await this.#forward(asked);
    return answers.map((answer, at) => this.#ruled(calls[at], answer, Number(newest?.result)));
  }

  /** Returns the header as such a node has it. */
  headerOf(fields: BlockFields): BlockFields {
    const { header, baseFeeMin } = this.#rules;
    const kept = Object.entries(fields).filter(([name]) => !header.lacks.includes(name));
    const baseFee = BigInt(String(fields['baseFeePerGas'] ?? '0x0'));
    const least = baseFeeMin !== undefined && baseFee < baseFeeMin;
    return { ...header.has, ...Object.fromEntries(kept), ...(least && { baseFeePerGas: hexOf(baseFeeMin) }) };
  }

  async #head(): Promise<number> {
    const [answer] = await this.#forward([HEAD]);
    return Number(answer?.result);
  }

  async #learnHashes(calls: readonly AskedCall[]): Promise<void> {
    const hashes = new Set(calls.flatMap((call) => hashIn(call) ?? []).filter((hash) => !this.#numbers.has(hash)));
    if (hashes.size === 0) return;
    const asked = [...hashes].map((hash, id) => ({ id, method: 'eth_getBlockByHash', params: [hash, false] }));
    const answers = await this.#forward(asked);
    for (const [at, hash] of [...hashes].entries()) {
      const block = answers[at]?.result as { number: string } | null | undefined;
      if (block) this.#numbers.set(hash, Number(block.number));
    }
  }

  /** Lowers too much gas to the maximum, unless the node refuses it. */
  #capped(call: AskedCall): AskedCall {
    const { gasAbove, callGasMax } = this.#rules;
    if (gasAbove !== undefined || call.method !== 'eth_call' || gasOf(call) <= callGasMax) return call;
    const [asked, ...others] = call.params;
    return { ...call, params: [{ ...(asked as object), gas: hexOf(callGasMax) }, ...others] };
  }

  #ruled(call: AskedCall | undefined, answer: RpcAnswer, head: number): RpcAnswer {
    if (call === undefined) return answer;
    const { method, params } = call;
    const rules = this.#rules;
    const refuse = (error: RpcError): RpcAnswer => ({ id: answer.id, error });
    const hash = hashIn(call);
    const number = hash === undefined ? undefined : this.#numbers.get(hash);
    const isUnknown = hash !== undefined && (number === undefined || number > head);
    if (method === 'eth_blockNumber') return { ...answer, result: hexOf(head) };
    if (method === 'eth_getLogs') {
      if (isUnknown) return refuse(rules.unknownHashOfLogs(hash));
      const isAbove = Array.isArray(answer.result) && answer.result.length > rules.logsMax;
      return isAbove ? refuse(rules.tooManyLogs) : answer;
    }
    if (BLOCKS.has(method)) return this.#block(answer, head);
    if (RECEIPTS.has(method)) return blockNumberIn(answer.result) > head ? { ...answer, result: null } : answer;
    if (rules.baseFeeMin !== undefined) {
      if (method === 'eth_gasPrice') return { ...answer, result: hexOf((rules.baseFeeMin * 11n) / 10n) };
      if (method === 'eth_maxPriorityFeePerGas') return { ...answer, result: '0x0' };
    }
    const place = BLOCK_AT[method];
    if (place === undefined) return answer;
    if (isUnknown) return refuse(rules.unknownHash);
    const asked = number ?? numberOf(params[place]);
    if (asked !== undefined && asked > head) return refuse(rules.unknownNumber);
    if (asked !== undefined && head - asked > rules.statesKept) return refuse(rules.noState);
    return method === 'eth_call' ? this.#called(call, answer, refuse) : answer;
  }

  #block(answer: RpcAnswer, head: number): RpcAnswer {
    const fields = answer.result as BlockFields | null | undefined;
    if (!fields) return answer;
    return { ...answer, result: Number(fields['number']) > head ? null : this.headerOf(fields) };
  }

  #called(call: AskedCall, answer: RpcAnswer, refuse: (error: RpcError) => RpcAnswer): RpcAnswer {
    const { callGasMax, gasAbove, outOfGas, invalidInstruction, reverted } = this.#rules;
    const gas = gasOf(call);
    if (gasAbove !== undefined && gas > callGasMax) return refuse(gasAbove(gas));
    const { error } = answer;
    if (error === undefined) return answer;
    const { message, data } = error;
    if (/out ?of ?gas/i.test(message)) return refuse(outOfGas);
    if (!/revert/i.test(message)) return refuse(invalidInstruction);
    const isBare = typeof data !== 'string' || data === '0x';
    return isBare ? refuse(reverted) : refuse({ code: 3, message, data });
  }
}

const HEAD: AskedCall = { id: 0, method: 'eth_blockNumber', params: [] };

/** Rewrites the call for a chain whose newest block is this one. */
function before(head: number, call: AskedCall): AskedCall {
  const { method, params } = call;
  if (method === 'eth_getLogs') {
    const filter = params[0] as { blockHash?: string; toBlock?: string };
    if (filter.blockHash !== undefined) return call;
    const to = numberOf(filter.toBlock) ?? head;
    return { ...call, params: [{ ...filter, toBlock: hexOf(Math.min(to, head)) }] };
  }
  const place = BLOCKS.has(method) ? 0 : BLOCK_AT[method];
  if (place === undefined || !NAMED.has(String(params[place]))) return call;
  return { ...call, params: params.with(place, hexOf(head)) };
}

/** Returns the hash of the block, if the call names one by its hash. */
function hashIn({ method, params }: AskedCall): string | undefined {
  const named = method === 'eth_getLogs' ? params[0] : params[BLOCK_AT[method] ?? Number.NaN];
  const { blockHash } = (named ?? {}) as { blockHash?: unknown };
  return typeof blockHash === 'string' ? blockHash : undefined;
}

function gasOf({ params }: AskedCall): number {
  return Number((params[0] as { gas?: string } | undefined)?.gas ?? 0);
}

/** Returns the block number of a receipt, or of the first of several. */
function blockNumberIn(result: unknown): number {
  const [receipt] = [result].flat() as ({ blockNumber?: string } | null | undefined)[];
  return Number(receipt?.blockNumber ?? 0);
}

function numberOf(block: unknown): number | undefined {
  return typeof block === 'string' && block.startsWith('0x') ? Number(block) : undefined;
}

export function hexOf(value: bigint | number): string {
  return `0x${value.toString(16)}`;
}
