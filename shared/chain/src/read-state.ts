import type { Address, Hex } from '@makerbook/contracts-evm';
import type { Node } from './call-node.js';
import { type CallOutcome, decodeAggregate3, encodeAggregate3, type StateCall } from './encode-calls.js';
import { RpcRefused, RpcUnavailable } from './failures.js';

/** Reads uint256 values of contracts at one block. */
export interface StateReader {
  /**
   * The values in the order of the calls; undefined where the contract itself fails: it reverts, burns its gas, returns
   * less than a word, or is no contract. Throws RpcUnavailable or RpcRefused where the node fails.
   * @param blockHash the state after exactly this block (EIP-1898).
   */
  read(blockHash: Hex, calls: readonly StateCall[]): Promise<readonly (bigint | undefined)[]>;
  /** Functions that failed and are called alone since, as `<contract>:<selector>`. */
  suspects(): ReadonlySet<string>;
}

export interface StateReaderOptions {
  readonly node: Node;
  /** Address of Multicall3. */
  readonly multicall: Address;
  /** Calls in one `aggregate3`. Default 200. */
  readonly callsMax?: number;
  /** Gas of a call that is made alone. Default 10 million. */
  readonly aloneGas?: number;
  /** `eth_call`s under way at once. Default 4. */
  readonly concurrencyMax?: number;
  /** Functions remembered as suspects, the oldest forgotten first. Default 10000. */
  readonly suspectsMax?: number;
}

/**
 * Reads through Multicall3, failures allowed. A contract that fails in company is asked again alone: another one may
 * have burnt the gas that was meant for it. What fails alone too has failed by itself, and is kept out of company from
 * then on until it succeeds, so that a contract that burns all gas costs the others nothing.
 */
export function createStateReader(options: StateReaderOptions): StateReader {
  const { node, multicall, callsMax = 200, aloneGas = 10_000_000, concurrencyMax = 4, suspectsMax = 10_000 } = options;
  const suspects = new Set<string>();

  const aggregate = async (
    blockHash: Hex,
    calls: readonly StateCall[],
    gas?: number,
  ): Promise<readonly CallOutcome[]> => {
    const transaction = { to: multicall, data: encodeAggregate3(calls) };
    const returned = await node.call('eth_call', [
      gas === undefined ? transaction : { ...transaction, gas: `0x${gas.toString(16)}` },
      { blockHash },
    ]);
    const outcomes = typeof returned === 'string' ? decodeAggregate3(returned as Hex, calls.length) : undefined;
    if (outcomes === undefined) {
      throw new RpcUnavailable(`Multicall3 at ${multicall} gave no result of aggregate3 at block ${blockHash}`);
    }
    return outcomes;
  };

  /** Throws when the node cannot call at this block at all: then no contract is to blame. */
  const blameNodeFirst = (blockHash: Hex) => aggregate(blockHash, []);

  const readAlone = async (blockHash: Hex, call: StateCall): Promise<bigint | undefined> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const [outcome] = await aggregate(blockHash, [call], aloneGas);
        const value = firstWord(outcome);
        if (outcome?.succeeded === true) suspects.delete(functionOf(call));
        else suspect(call);
        return value;
      } catch (error) {
        if (!(error instanceof RpcRefused)) throw error;
        await blameNodeFirst(blockHash);
        if (attempt === 2) {
          suspect(call);
          return undefined;
        }
      }
    }
  };

  const suspect = (call: StateCall) => {
    suspects.add(functionOf(call));
    const [oldest] = suspects;
    if (suspects.size > suspectsMax && oldest !== undefined) suspects.delete(oldest);
  };

  const readTogether = async (blockHash: Hex, calls: readonly StateCall[]): Promise<(bigint | undefined)[]> => {
    const [only] = calls;
    if (only === undefined) return [];
    let outcomes: readonly CallOutcome[];
    try {
      outcomes = await aggregate(blockHash, calls);
    } catch (error) {
      if (!(error instanceof RpcRefused)) throw error;
      await blameNodeFirst(blockHash);
      if (calls.length === 1) return [await readAlone(blockHash, only)];
      const half = calls.length >> 1;
      const first = await readTogether(blockHash, calls.slice(0, half));
      return [...first, ...(await readTogether(blockHash, calls.slice(half)))];
    }
    const values = outcomes.map(firstWord);
    // The first that failed may have burnt the gas of those behind it: they get another chance, together.
    const failed = [...calls.keys()].filter((index) => outcomes[index]?.succeeded !== true);
    const [first, ...rest] = failed;
    if (first === undefined) return values;
    const others: number[] = [];
    for (const index of [first, ...rest]) {
      const call = calls[index];
      if (call === undefined) continue;
      if (index === first || suspects.has(functionOf(call))) values[index] = await readAlone(blockHash, call);
      else others.push(index);
    }
    const again = await readTogether(blockHash, pick(calls, others));
    for (const [nth, index] of others.entries()) values[index] = again[nth];
    return values;
  };

  const read = async (blockHash: Hex, calls: readonly StateCall[]): Promise<readonly (bigint | undefined)[]> => {
    const values: (bigint | undefined)[] = new Array(calls.length);
    const jobs: { readonly indexes: readonly number[]; readonly alone: boolean }[] = [];
    let company: number[] = [];
    for (const [index, call] of calls.entries()) {
      if (suspects.has(functionOf(call))) jobs.push({ indexes: [index], alone: true });
      else if (company.push(index) === callsMax) {
        jobs.push({ indexes: company, alone: false });
        company = [];
      }
    }
    if (company.length > 0) jobs.push({ indexes: company, alone: false });
    const work = async () => {
      for (let job = jobs.pop(); job !== undefined; job = jobs.pop()) {
        const wanted = pick(calls, job.indexes);
        const [first] = wanted;
        const got = job.alone && first ? [await readAlone(blockHash, first)] : await readTogether(blockHash, wanted);
        for (const [nth, index] of job.indexes.entries()) values[index] = got[nth];
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrencyMax, jobs.length) }, work));
    return values;
  };

  return { read, suspects: () => suspects };
}

function functionOf({ to, data }: StateCall): string {
  return `${to}:${data.slice(0, 10)}`;
}

function pick<T>(list: readonly T[], indexes: readonly number[]): T[] {
  return indexes.map((index) => list[index]).filter((each) => each !== undefined);
}

/** The first word of what was returned, as Solidity reads a uint256; undefined for less than a word. */
function firstWord(outcome: CallOutcome | undefined): bigint | undefined {
  if (outcome?.succeeded !== true || outcome.data.length < 64) return undefined;
  return BigInt(`0x${outcome.data.slice(0, 64)}`);
}
