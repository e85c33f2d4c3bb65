import type { Address, Hex } from '@makerbook/contracts-primitives';
import type { Node } from './call-node.js';
import type { StateCall } from './encode-calls.js';
import { findContracts } from './read-blocks.js';
import { CallRunner, SINGLES_MAX } from './run-calls.js';
import { SuspectCalls } from './suspect-calls.js';

/** Stands for a value that was not read because reading it costs too much. Read it later. */
export const PUT_OFF = 'PUT_OFF';
/** Undefined if the contract fails: it reverts, burns its gas, has no code, or returns < 32 or > 4096 bytes. */
export type StateValue = bigint | typeof PUT_OFF | undefined;

/**
 * Reads uint256 values of contracts at one block. All methods throw RpcUnavailable or RpcRefused if the node fails.
 * @param blockHash the state after exactly this block (EIP-1898)
 */
export interface StateReader {
  /** Returns the values in the order of the calls. */
  read(blockHash: Hex, calls: readonly StateCall[]): Promise<readonly StateValue[]>;
  /**
   * Like `read`, for at most 40 calls of wallets. Each call has its own gas, as in `openWallets`, and none is put off.
   */
  readAlone(blockHash: Hex, calls: readonly StateCall[]): Promise<readonly (bigint | undefined)[]>;
  /** Returns the addresses that have code. */
  findContracts(blockHash: Hex, addresses: readonly Address[]): Promise<ReadonlySet<Address>>;
  /** Calls that failed when they were last made, keyed by a name. The one that has waited longest comes first. */
  suspects(): ReadonlyMap<string, StateCall>;
}

export interface StateReaderOptions {
  readonly node: Node;
  /** Address of Multicall3. */
  readonly multicall: Address;
  /** Calls in one `aggregate3`. Default 200. */
  readonly callsMax?: number;
  /** Suspects in one reading. Default 8. */
  readonly suspectCallsMax?: number;
}

/** Gas of a batch: for each call, and for the batch itself. A node caps it at some 50 million. */
const BATCH_GAS = { perCall: 150_000, beside: 100_000, max: 50_000_000 };
/** A payer with more than `callsMin` calls has a batch of its own, with at most `callsMax` calls and this gas. */
const OWN_BATCH = { callsMin: 20, callsMax: 100, gas: 6_000_000 };
/** The gas of a call that failed in a batch and is made alone, and the most such calls of one payer in a reading. */
const SINGLE_GAS = 400_000;
const SINGLES_OF_PAYER_MAX = 20;
/** The gas of a call that failed alone: the most that any call gets. */
const SUSPECT_GAS = 3_000_000;
/** The most requests in flight at once. */
const CONCURRENCY_MAX = 4;
/** The most codes in one answer. Each has up to 48 kB. */
const CODES_MAX = 40;

/**
 * Reads batches of calls through Multicall3, in which calls may fail. A call that fails in a batch is made again alone,
 * because another call may have burnt its gas. One that fails alone is a suspect. Suspects stay out of batches until
 * they succeed.
 *
 * Nothing that a contract does costs the others more than a bound. A reading of `n` values asks the node for 0.15 n
 * million gas in batches, 0.4 million more for each call that fails there for the first time, and 3 million for each of
 * `suspectCallsMax` suspects, those of other accounts first. For one payer, all but the last cost 14 million at most.
 * What is beyond that is put off.
 *
 * A failed execution counts against a contract only if the same endpoint, in the same answer, has run an empty call at
 * the same block. Any other failure is the node's own.
 */
export function createStateReader(options: StateReaderOptions): StateReader {
  return new MulticallReader(options);
}

/** Values by the index of their call. Each is filled in once it is read. */
type Values = StateValue[];

/** The indexes of calls that are read together. */
interface Batch {
  readonly indexes: readonly number[];
  readonly gas: number;
}

class MulticallReader implements StateReader {
  readonly #node: Node;
  readonly #runner: CallRunner;
  readonly #callsMax: number;
  readonly #suspectCallsMax: number;
  readonly #suspects = new SuspectCalls();
  /** Addresses that are known to have code. */
  readonly #contracts = new Set<Address>();

  constructor(options: StateReaderOptions) {
    this.#node = options.node;
    this.#runner = new CallRunner(options.node, options.multicall);
    this.#callsMax = options.callsMax ?? 200;
    this.#suspectCallsMax = options.suspectCallsMax ?? 8;
  }

  suspects(): ReadonlyMap<string, StateCall> {
    return this.#suspects.all();
  }

  async read(blockHash: Hex, calls: readonly StateCall[]): Promise<readonly StateValue[]> {
    const values: Values = new Array<StateValue>(calls.length).fill(PUT_OFF);
    const [suspected, trusted] = split([...calls.keys()], (index) => this.#suspects.has(calls[index]));
    const chosen = this.#suspects.choose(calls, suspected, this.#suspectCallsMax);
    const [failed] = await Promise.all([
      inParallel(this.#batchesOf(calls, trusted), CONCURRENCY_MAX, ({ indexes, gas }) =>
        fill(values, calls, indexes, (some) => this.#runner.readTogether(blockHash, some, gas)),
      ),
      this.#readSuspects(blockHash, values, calls, chosen),
    ]);
    const [singles, others] = split(
      failed,
      isWithin(SINGLES_OF_PAYER_MAX, (index) => calls[index]?.payer),
    );
    const failedAgain = await inParallel(chunksOf(singles, SINGLES_MAX), CONCURRENCY_MAX, (chunk) =>
      fill(values, calls, chunk, (some) => this.#runner.readSingly(blockHash, some, SINGLE_GAS)),
    );
    this.#suspects.add(pick(calls, failedAgain));
    const placesLeft = this.#suspectCallsMax - chosen.length;
    for (const index of [...others, ...failedAgain.slice(placesLeft)]) values[index] = PUT_OFF;
    await this.#readSuspects(blockHash, values, calls, failedAgain.slice(0, placesLeft));
    await this.#dropCodeless(blockHash, values, calls);
    return values;
  }

  readAlone(blockHash: Hex, calls: readonly StateCall[]): Promise<readonly (bigint | undefined)[]> {
    return this.#runner.readAlone(blockHash, calls);
  }

  async findContracts(blockHash: Hex, addresses: readonly Address[]): Promise<ReadonlySet<Address>> {
    const asked = new Set(addresses.filter((address) => !this.#contracts.has(address)));
    await inParallel(chunksOf([...asked], CODES_MAX), CONCURRENCY_MAX, async (some) => {
      for (const address of await findContracts(this.#node, some, blockHash)) this.#contracts.add(address);
      return [];
    });
    return new Set(addresses.filter((address) => this.#contracts.has(address)));
  }

  /** Puts a payer with many calls into a batch of its own, and leaves out calls that do not fit. */
  #batchesOf(calls: readonly StateCall[], indexes: readonly number[]): Batch[] {
    const { callsMin, callsMax, gas } = OWN_BATCH;
    const byPayer = Map.groupBy(indexes, (index) => calls[index]?.payer);
    const hasMany = (payer: Address | undefined) => payer !== undefined && (byPayer.get(payer)?.length ?? 0) > callsMin;
    const own = [...byPayer].flatMap(([payer, some]) =>
      hasMany(payer) ? { indexes: some.slice(0, Math.min(callsMax, this.#callsMax)), gas } : [],
    );
    const common = indexes.filter((index) => !hasMany(calls[index]?.payer));
    const { perCall, beside, max } = BATCH_GAS;
    return [
      ...own,
      ...chunksOf(common, this.#callsMax).map((some) => {
        return { indexes: some, gas: Math.min(beside + perCall * some.length, max) };
      }),
    ];
  }

  /**
   * Drops the values of addresses without code. A precompile answers any call, some with a word, but is no token. An
   * address that answers is asked for its code until it has some.
   */
  async #dropCodeless(blockHash: Hex, values: Values, calls: readonly StateCall[]): Promise<void> {
    const answering = [...calls.entries()].filter(([index]) => typeof values[index] === 'bigint');
    const contracts = await this.findContracts(
      blockHash,
      answering.map(([, { to }]) => to),
    );
    const codeless = answering.filter(([, { to }]) => !contracts.has(to));
    for (const [index] of codeless) values[index] = undefined;
    this.#suspects.add(codeless.map(([, call]) => call));
  }

  async #readSuspects(
    blockHash: Hex,
    values: Values,
    calls: readonly StateCall[],
    indexes: readonly number[],
  ): Promise<void> {
    if (indexes.length === 0) return;
    const failed = await fill(values, calls, indexes, (some) => this.#runner.readSingly(blockHash, some, SUSPECT_GAS));
    const answered = indexes.filter((index) => !failed.includes(index));
    this.#suspects.clear(pick(calls, answered));
    this.#suspects.add(pick(calls, failed));
  }
}

/** Reads the calls at these indexes. Returns the indexes that have no value. */
async function fill(
  values: Values,
  calls: readonly StateCall[],
  indexes: readonly number[],
  read: (some: readonly StateCall[]) => Promise<readonly (bigint | undefined)[]>,
): Promise<number[]> {
  const got = await read(pick(calls, indexes));
  for (const [nth, index] of indexes.entries()) values[index] = got[nth];
  return indexes.filter((index) => values[index] === undefined);
}

/** Splits a list by a condition. */
function split<T>(list: readonly T[], isSo: (each: T) => boolean): [T[], T[]] {
  const [those, others]: [T[], T[]] = [[], []];
  for (const each of list) (isSo(each) ? those : others).push(each);
  return [those, others];
}

/** True for the first `countMax` of each key, and always without a key. */
function isWithin<T, K>(countMax: number, keyOf: (each: T) => K | undefined): (each: T) => boolean {
  const counts = new Map<K, number>();
  return (each) => {
    const key = keyOf(each);
    if (key === undefined) return true;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count <= countMax;
  };
}

function pick<T>(list: readonly T[], indexes: readonly number[]): T[] {
  return indexes.map((index) => list[index]).filter((each) => each !== undefined);
}

function chunksOf<T>(list: readonly T[], countMax: number): T[][] {
  const chunks: T[][] = [];
  for (let from = 0; from < list.length; from += countMax) chunks.push(list.slice(from, from + countMax));
  return chunks;
}

/** Does the work for each item, `atOnceMax` at a time. Returns all results in the order of the list. */
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
