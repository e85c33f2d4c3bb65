import type { AskedCall, Misbehaviour, RpcAnswer } from './misbehaving-node.js';

type Forward = Parameters<Misbehaviour>[1];
type BlockFields = Record<string, unknown>;

/** What a node of Kaia (release 2.2.1) takes at most. */
export const KAIA_REQUEST_BYTES_MAX = 524_288;
const CALL_GAS_MAX = 500_000_000;
const LOGS_MAX = 10_000;
/** Blocks back to which it has the state: surely a hundred. */
const STATES_KEPT = 100;
const BASE_FEE_MIN = 25_000_000_000n;
/** The base fee is never less: 25 gkei, in wei. */
export const KAIA_BASE_FEE = hexOf(BASE_FEE_MIN);
/** Where the parameter with the block stands. */
const BLOCK_AT: Readonly<Record<string, number>> = {
  eth_call: 1,
  eth_estimateGas: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_getTransactionCount: 1,
  eth_getStorageAt: 2,
};
const BLOCKS = new Set(['eth_getBlockByNumber', 'eth_getBlockByHash']);

/** Answers as a node of Kaia where anvil would answer otherwise: in limits, in words of failures, in headers. */
export function asKaia(): Misbehaviour {
  const numbers = new Map<string, number>();
  return async (calls, forward) => {
    await learnHashes(calls, numbers, forward);
    const head: AskedCall = { id: 0, method: 'eth_blockNumber', params: [] };
    const [newest, ...answers] = await forward([head, ...calls]);
    return answers.map((answer, at) => ruled(calls[at], answer, Number(newest?.result), numbers));
  };
}

/** Asks for the numbers of blocks that are named by a hash. */
async function learnHashes(calls: readonly AskedCall[], numbers: Map<string, number>, forward: Forward): Promise<void> {
  const hashes = new Set(calls.flatMap((call) => hashIn(call) ?? []).filter((hash) => !numbers.has(hash)));
  if (hashes.size === 0) return;
  const asked = [...hashes].map((hash, id) => ({ id, method: 'eth_getBlockByHash', params: [hash, false] }));
  const answers = await forward(asked);
  for (const [at, hash] of [...hashes].entries()) {
    const block = answers[at]?.result as { number: string } | null | undefined;
    if (block) numbers.set(hash, Number(block.number));
  }
}

function ruled(call: AskedCall | undefined, answer: RpcAnswer, head: number, numbers: Map<string, number>): RpcAnswer {
  if (call === undefined) return answer;
  const { method, params } = call;
  const refuse = (code: number, message: string, data?: unknown): RpcAnswer => {
    return { id: answer.id, error: { code, message, ...(data === undefined ? {} : { data }) } };
  };
  const hash = hashIn(call);
  if (method === 'eth_getLogs') {
    if (hash !== undefined && !numbers.has(hash)) return refuse(-32000, `the header does not exist (hash: ${hash})`);
    const count = Array.isArray(answer.result) ? answer.result.length : 0;
    return count > LOGS_MAX ? refuse(-32000, `query returned more than ${LOGS_MAX} results`) : answer;
  }
  if (BLOCKS.has(method)) return answer.result ? { ...answer, result: headerOf(answer.result as BlockFields) } : answer;
  if (method === 'eth_gasPrice') return { ...answer, result: hexOf((BASE_FEE_MIN * 11n) / 10n) };
  if (method === 'eth_maxPriorityFeePerGas') return { ...answer, result: '0x0' };
  const place = BLOCK_AT[method];
  if (place === undefined) return answer;
  if (hash !== undefined && !numbers.has(hash)) return refuse(-32000, 'header for hash not found');
  const asked = hash === undefined ? numberOf(params[place]) : numbers.get(hash);
  if (asked !== undefined && asked > head) return refuse(-32000, 'header not found');
  if (asked !== undefined && head - asked > STATES_KEPT) {
    return refuse(-32000, `missing trie node ${'0'.repeat(64)} (path )`);
  }
  return method === 'eth_call' ? called(params[0], answer, refuse) : answer;
}

function called(
  given: unknown,
  answer: RpcAnswer,
  refuse: (code: number, message: string, data?: unknown) => RpcAnswer,
): RpcAnswer {
  const gas = Number((given as { gas?: string } | undefined)?.gas ?? 0);
  if (gas > CALL_GAS_MAX) return refuse(-32000, `gas limit ${gas} exceeds the upper limit ${CALL_GAS_MAX}`);
  const { error } = answer;
  if (error === undefined) return answer;
  const { message, data } = error;
  if (/out ?of ?gas/i.test(message)) return refuse(-32000, 'out of gas');
  if (!/revert/i.test(message)) return refuse(-32000, 'VM error occurs while running smart contract');
  const isBare = typeof data !== 'string' || data === '0x';
  return isBare ? refuse(-32000, 'evm: execution reverted') : refuse(3, message, data);
}

/** The header as Kaia has it: without fields of Ethereum's beacon chain, and with a base fee that never falls below its least. */
function headerOf({ totalDifficulty: _1, withdrawals: _2, withdrawalsRoot: _3, ...fields }: BlockFields): BlockFields {
  const baseFee = BigInt(String(fields['baseFeePerGas'] ?? '0x0'));
  return {
    ...fields,
    baseFeePerGas: hexOf(baseFee > BASE_FEE_MIN ? baseFee : BASE_FEE_MIN),
    blobGasUsed: fields['blobGasUsed'] ?? '0x0',
    randomReveal: `0x${'00'.repeat(96)}`,
  };
}

/** The block that the call names by its hash. */
function hashIn({ method, params }: AskedCall): string | undefined {
  const named = method === 'eth_getLogs' ? params[0] : params[BLOCK_AT[method] ?? Number.NaN];
  const { blockHash } = (named ?? {}) as { blockHash?: unknown };
  return typeof blockHash === 'string' ? blockHash : undefined;
}

function numberOf(block: unknown): number | undefined {
  return typeof block === 'string' && block.startsWith('0x') ? Number(block) : undefined;
}

function hexOf(value: bigint): string {
  return `0x${value.toString(16)}`;
}
