import { Interface } from 'ethers';
import type { Chain } from './drive-chain.js';

/** What the contracts say at a block. A token that does not answer with a word counts as zero. */
export interface Contracts {
  nonce(maker: string, block: number): Promise<bigint>;
  filled(orderHash: string, block: number): Promise<bigint>;
  isCancelled(orderHash: string, block: number): Promise<boolean>;
  balance(maker: string, token: string, block: number): Promise<bigint>;
  /** What the maker lets the protocol transfer. */
  allowance(maker: string, token: string, block: number): Promise<bigint>;
}

/** A longer answer is taken for none: Multicall3 of `contracts/evm` does not copy it. */
const ANSWER_BYTES_MAX = 4096;
const CALL_GAS = '0x989680';
const abi = new Interface([
  'function nonce(address) view returns (uint256)',
  'function filled(bytes32) view returns (uint256)',
  'function cancelled(bytes32) view returns (bool)',
  'function balanceOf(address) view returns (uint256)',
  'function allowance(address, address) view returns (uint256)',
]);

/**
 * Asks the contracts by a call for each value: no Multicall, no events, nothing of the service. What is asked in one turn
 * goes in one round trip, and a block that was made does not change, so nothing is asked twice.
 */
export function readContracts(chain: Chain, protocol: string): Contracts {
  const known = new Map<string, Promise<bigint>>();
  let asked: { readonly params: readonly unknown[]; readonly resolve: (answer: unknown) => void }[] = [];
  let failAll: ((error: unknown) => void)[] = [];

  async function flush(): Promise<void> {
    const [questions, failing] = [asked, failAll];
    asked = [];
    failAll = [];
    try {
      const answers = await chain.askAll(questions.map(({ params }) => ({ method: 'eth_call', params })));
      for (const [index, { resolve }] of questions.entries()) resolve(answers[index]);
    } catch (error) {
      for (const fail of failing) fail(error);
    }
  }
  function ask(to: string, method: string, args: readonly string[], block: number): Promise<bigint> {
    const key = `${to} ${method} ${args.join()} ${block}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const call = { to, data: abi.encodeFunctionData(method, args), gas: CALL_GAS };
    const answer = new Promise<unknown>((resolve, reject) => {
      if (asked.length === 0) setImmediate(() => void flush());
      asked.push({ params: [call, `0x${block.toString(16)}`], resolve });
      failAll.push(reject);
    }).then((said) => wordOf(said, to === protocol ? key : undefined));
    known.set(key, answer);
    return answer;
  }
  return {
    nonce: (maker, block) => ask(protocol, 'nonce', [maker], block),
    filled: (orderHash, block) => ask(protocol, 'filled', [orderHash], block),
    isCancelled: async (orderHash, block) => (await ask(protocol, 'cancelled', [orderHash], block)) !== 0n,
    balance: (maker, token, block) => ask(token, 'balanceOf', [maker], block),
    allowance: (maker, token, block) => ask(token, 'allowance', [maker, protocol], block),
  };
}

/** @param required what was asked, where an answer that is no word is an error and not zero */
function wordOf(answer: unknown, required: string | undefined): bigint {
  const isWord = typeof answer === 'string' && answer.length >= 66 && answer.length <= 2 + 2 * ANSWER_BYTES_MAX;
  if (isWord) return BigInt(answer.slice(0, 66));
  if (required !== undefined) throw new Error(`the chain does not answer ${required}, but ${answer}`);
  return 0n;
}
