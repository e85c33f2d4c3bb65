import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { Node, RpcRequest } from './call-node.js';
import { type CallOutcome, decodeAggregate3, encodeAggregate3, type StateCall } from './encode-calls.js';
import { RpcRefused, RpcUnavailable } from './failures.js';
import { isContract } from './read-blocks.js';

/** Reads uint256 values of contracts at one block. */
export interface StateReader {
  /**
   * The values in the order of the calls; undefined where the contract itself fails: it reverts, burns its gas, returns
   * less than a word or more than 4096 bytes, or has no code; or where it failed before and is not asked in this
   * reading (`suspectCallsMax`). Throws RpcUnavailable or RpcRefused where the node fails.
   * @param blockHash the state after exactly this block (EIP-1898).
   */
  read(blockHash: Hex, calls: readonly StateCall[]): Promise<readonly (bigint | undefined)[]>;
  /** Calls that failed when they were asked last, by a name; the one that has waited longest comes first. */
  suspects(): ReadonlyMap<string, StateCall>;
}

export interface StateReaderOptions {
  readonly node: Node;
  /** Address of Multicall3. */
  readonly multicall: Address;
  /** Calls in one `aggregate3`. Default 200. */
  readonly callsMax?: number;
  /** Suspects that are asked in one reading. Default 8. */
  readonly suspectCallsMax?: number;
}

/** Gas of a batch: for each call, and beside that for all. A node caps it at some 50 million. */
const BATCH_GAS = { perCall: 150_000, beside: 100_000, max: 50_000_000 };
/** The gas of a call that failed in a batch and is asked alone. */
const SINGLE_GAS = 400_000;
/** The gas of a call that failed alone: the most that any call gets. */
const SUSPECT_GAS = 3_000_000;
/** A call that returns more is kept out of batches; our own Multicall3 treats it as a failure. */
const RETURN_BYTES_MAX = 4096;
/** `eth_call`s under way at once. */
const CONCURRENCY_MAX = 4;
/** Suspects remembered, the one asked longest ago forgotten first. */
const SUSPECTS_MAX = 10_000;
/** Single calls in one request, beside the empty one. */
const SINGLES_MAX = 40;

/**
 * Reads batches of calls through Multicall3, failures allowed. A call that fails in a batch is asked again alone: another
 * call may have burnt its gas. One that fails alone is a suspect, and is kept out of batches until it succeeds.
 *
 * Nothing that a contract does costs the others more than a bound: in one reading of `n` values the node is asked for
 * 0.15 n million gas in batches, once more 0.4 million for each that fails there for the first time, and 3 million
 * for each of `suspectCallsMax` suspects. Suspects beyond that wait for a later reading, and are undefined until then.
 *
 * Only a failed execution is held against a contract, and only where the same endpoint, in the same
 * answer, has run an empty call at the same block. All else is the node's own failure.
 */
export function createStateReader(options: StateReaderOptions): StateReader {
  return new MulticallReader(options);
}

/** Values by the index of their call, filled in as they are read. */
type Values = (bigint | undefined)[];

class MulticallReader implements StateReader {
  private readonly node: Node;
  private readonly multicall: Address;
  private readonly callsMax: number;
  private readonly suspectCallsMax: number;
  private readonly suspected = new Map<string, StateCall>();
  /** The addresses that have code. */
  private readonly contracts = new Set<Address>();

  constructor(options: StateReaderOptions) {
    this.node = options.node;
    this.multicall = options.multicall;
    this.callsMax = options.callsMax ?? 200;
    this.suspectCallsMax = options.suspectCallsMax ?? 8;
  }

  suspects(): ReadonlyMap<string, StateCall> {
    return this.suspected;
  }

  async read(blockHash: Hex, calls: readonly StateCall[]): Promise<readonly (bigint | undefined)[]> {
    const values: Values = new Array(calls.length);
    const isSuspect = (index: number) => this.suspected.has(nameOf(calls[index]));
    const all = [...calls.keys()];
    const chosen = this.chooseSuspects(calls, all.filter(isSuspect));
    const groups = chunksOf(
      all.filter((index) => !isSuspect(index)),
      this.callsMax,
    );
    const [failed] = await Promise.all([
      inParallel(groups, CONCURRENCY_MAX, (group) =>
        fill(values, calls, group, (some) => this.readTogether(blockHash, some)),
      ),
      this.readSuspects(blockHash, values, calls, chosen),
    ]);
    const failedAgain = await inParallel(chunksOf(failed, SINGLES_MAX), CONCURRENCY_MAX, (chunk) =>
      fill(values, calls, chunk, (some) => this.readSingly(blockHash, some, SINGLE_GAS)),
    );
    this.suspect(pick(calls, failedAgain));
    const left = failedAgain.slice(0, this.suspectCallsMax - chosen.length);
    await this.readSuspects(blockHash, values, calls, left);
    await this.dropCodeless(blockHash, values, calls);
    return values;
  }

  /**
   * A precompile answers whatever it is asked, some with a word, and is no token: it has no code. So what answers is asked
   * for its code, until it has some.
   */
  private async dropCodeless(blockHash: Hex, values: Values, calls: readonly StateCall[]): Promise<void> {
    const isDoubtful = ({ to }: StateCall, index: number) => values[index] !== undefined && !this.contracts.has(to);
    const doubtful = new Set(calls.filter(isDoubtful).map(({ to }) => to));
    await inParallel([...doubtful], CONCURRENCY_MAX, async (to) => {
      if (await isContract(this.node, to, blockHash)) this.contracts.add(to);
      return [];
    });
    const codeless = [...calls.entries()].filter(([index, call]) => isDoubtful(call, index));
    for (const [index] of codeless) values[index] = undefined;
    this.suspect(codeless.map(([, call]) => call));
  }

  private async readSuspects(
    blockHash: Hex,
    values: Values,
    calls: readonly StateCall[],
    indexes: readonly number[],
  ): Promise<void> {
    if (indexes.length === 0) return;
    const failed = await fill(values, calls, indexes, (some) => this.readSingly(blockHash, some, SUSPECT_GAS));
    const answered = indexes.filter((index) => !failed.includes(index));
    this.clear(pick(calls, answered));
    this.suspect(pick(calls, failed));
  }

  /**
   * A batch that is refused twice may be too large; then all its values are unknown. The second try is for a balancer, whose
   * second node may know what the first does not.
   */
  private async readTogether(blockHash: Hex, calls: readonly StateCall[]): Promise<Values> {
    const { perCall, beside, max } = BATCH_GAS;
    const gas = Math.min(beside + perCall * calls.length, max);
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      try {
        return await this.node.callAll([this.requestOf(blockHash, calls, gas)], ([result], endpoint) =>
          this.outcomesOf(result, calls.length, endpoint).map(firstWord),
        );
      } catch (error) {
        if (!(error instanceof RpcRefused)) throw error;
        if (error.isOfExecution) break;
      }
    }
    return calls.map(() => undefined);
  }

  /** Each in an `eth_call` of its own, all in one request. */
  private readSingly(blockHash: Hex, calls: readonly StateCall[], gas: number): Promise<Values> {
    const requests = [[], ...calls.map((call) => [call])].map((some) => this.requestOf(blockHash, some, gas));
    return this.node.callEach(requests, ([empty, ...singles], endpoint) => {
      if (empty === undefined || 'failure' in empty) {
        throw new RpcUnavailable(`${endpoint} can execute nothing at block ${blockHash}`);
      }
      this.outcomesOf(empty.result, 0, endpoint);
      return singles.map((single) =>
        'failure' in single ? undefined : firstWord(this.outcomesOf(single.result, 1, endpoint)[0]),
      );
    });
  }

  private requestOf(blockHash: Hex, calls: readonly StateCall[], gas: number): RpcRequest {
    const call = { to: this.multicall, data: encodeAggregate3(calls), gas: `0x${gas.toString(16)}` };
    return { method: 'eth_call', params: [call, { blockHash }] };
  }

  /** The outcomes of the calls. Throws RpcUnavailable if the result does not fit them. */
  private outcomesOf(result: unknown, count: number, by: string): readonly CallOutcome[] {
    const outcomes = typeof result === 'string' ? decodeAggregate3(result as Hex, count) : undefined;
    if (outcomes !== undefined) return outcomes;
    throw new RpcUnavailable(`${by} gave no result of aggregate3 of the Multicall3 at ${this.multicall}`);
  }

  private suspect(calls: readonly StateCall[]): void {
    for (const call of calls) {
      this.suspected.delete(nameOf(call));
      this.suspected.set(nameOf(call), call);
      const [oldest] = this.suspected.keys();
      if (this.suspected.size > SUSPECTS_MAX && oldest !== undefined) this.suspected.delete(oldest);
    }
  }

  /** A function that answers again gets another chance for all accounts: it may have failed for all of them. */
  private clear(calls: readonly StateCall[]): void {
    const functions = new Set(calls.map(functionOf));
    for (const [name, call] of this.suspected) if (functions.has(functionOf(call))) this.suspected.delete(name);
  }

  /** The suspects among the calls that have waited longest. */
  private chooseSuspects(calls: readonly StateCall[], suspected: readonly number[]): readonly number[] {
    if (suspected.length <= this.suspectCallsMax) return suspected;
    const places = new Map([...this.suspected.keys()].map((name, place) => [name, place]));
    const placeOf = (index: number) => places.get(nameOf(calls[index])) ?? 0;
    return [...suspected].sort((a, b) => placeOf(a) - placeOf(b)).slice(0, this.suspectCallsMax);
  }
}

/** Reads these of the calls; gives those that have no value. */
async function fill(
  values: Values,
  calls: readonly StateCall[],
  indexes: readonly number[],
  read: (some: readonly StateCall[]) => Promise<Values>,
): Promise<number[]> {
  const got = await read(pick(calls, indexes));
  for (const [nth, index] of indexes.entries()) values[index] = got[nth];
  return indexes.filter((index) => values[index] === undefined);
}

function functionOf({ to, data }: StateCall): string {
  return `${to}:${data.slice(0, 10)}`;
}

function nameOf(call: StateCall | undefined): string {
  return call === undefined ? '' : `${call.to}:${call.data}`;
}

function pick<T>(list: readonly T[], indexes: readonly number[]): T[] {
  return indexes.map((index) => list[index]).filter((each) => each !== undefined);
}

function chunksOf<T>(list: readonly T[], countMax: number): T[][] {
  const chunks: T[][] = [];
  for (let from = 0; from < list.length; from += countMax) chunks.push(list.slice(from, from + countMax));
  return chunks;
}

/** Does the work for each, for so many at once, and gives what came out of it, in the order of the list. */
async function inParallel<E, T>(
  list: readonly E[],
  atOnceMax: number,
  work: (each: E) => Promise<readonly T[]>,
): Promise<T[]> {
  const results: (readonly T[])[] = [];
  const left = list.entries();
  const take = async () => {
    for (const [index, each] of left) results[index] = await work(each);
  };
  await Promise.all(Array.from({ length: Math.min(atOnceMax, list.length) }, take));
  return results.flat();
}

/** The first word of what was returned, as Solidity reads a uint256; undefined for less than a word, and for too much. */
function firstWord(outcome: CallOutcome | undefined): bigint | undefined {
  if (outcome?.succeeded !== true || outcome.data.length < 64) return undefined;
  if (outcome.data.length > 2 * RETURN_BYTES_MAX) return undefined;
  return BigInt(`0x${outcome.data.slice(0, 64)}`);
}
