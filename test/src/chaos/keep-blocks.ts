import { setTimeout as pause } from 'node:timers/promises';
import { allowance, balanceOf, cancelledOf, filledOf, nonceOf, type StateCall } from '@makerbook/chain';
import type { Address, Hex } from '@makerbook/contracts-primitives';
import { Interface } from 'ethers';
import { type LoggedFill, readLoggedFill } from '../kit/compare-fills.js';
import { type JudgedBlock, keyOf } from '../simulation/chain/keep-chain.js';

interface Subjects {
  readonly protocol: Address;
  readonly makers: readonly Address[];
  readonly tokens: readonly Address[];
}

export interface Question {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Asks the chain some questions at once. @throws Error if it does not answer each of them */
type AskAll = (questions: readonly Question[]) => Promise<unknown[]>;

const BLOCK_MS = 1_000;
const PAUSE_MS_MIN = 100;
const NOTED_MS_MAX = 60_000;
/** A node refuses a request with very many questions. */
const QUESTIONS_AT_ONCE = 500;
const abi = new Interface([
  'function nonce(address) view returns (uint256)',
  'function filled(bytes32) view returns (uint256)',
  'function cancelled(bytes32) view returns (bool)',
  'function balanceOf(address) view returns (uint256)',
  'function allowance(address, address) view returns (uint256)',
]);

/**
 * The chain of a run. Makes a block each second, and asks the contracts by `eth_call` before it makes the next one,
 * because a killed chain keeps no older state. Makes no block while the chain is down.
 */
export class KeptBlocks {
  readonly #askAll: AskAll;
  readonly #blocks = new Map<number, JudgedBlock>();
  /** The values of each call, with the block since which each holds. */
  readonly #values = new Map<string, { readonly since: number; readonly value: bigint }[]>();
  readonly #fills: LoggedFill[] = [];
  readonly #making: Promise<void>;
  #subjects: Subjects | undefined;
  #last = -1;
  #isOn = true;
  #failure: unknown;

  /** @param askAll asks a node that makes no block while somebody reads */
  constructor(askAll: AskAll) {
    this.#askAll = askAll;
    this.#making = this.#make();
  }

  /** Notes what the contracts say of these subjects after each block from now on. */
  async note(subjects: Subjects): Promise<void> {
    this.#subjects = subjects;
    const deadline = performance.now() + NOTED_MS_MAX;
    while (this.#blocks.size === 0) {
      if (performance.now() > deadline) throw new Error('no block is noted', { cause: this.#failure });
      await pause(PAUSE_MS_MIN);
    }
  }

  get head(): JudgedBlock {
    return this.at(this.#last);
  }

  at(number: number): JudgedBlock {
    const block = this.#blocks.get(number);
    if (block === undefined) throw new Error(`block ${number} is not noted`);
    return block;
  }

  /** The fills of a maker's orders in the blocks that are noted. */
  fillsOf(maker: string): readonly LoggedFill[] {
    return this.#fills.filter((fill) => fill.maker === maker);
  }

  /** Makes no more blocks. @throws Error if what was noted of these orders differs from the contracts now */
  async stop(orders: readonly Hex[]): Promise<void> {
    await this.end();
    await this.#catchUp();
    const { header, values } = this.head;
    const reads = orders.flatMap((hash) => readsOfOrder(hash, this.#subjects?.protocol ?? '0x'));
    const answers = await this.#read(reads, header.number);
    for (const [index, { key }] of reads.entries())
      if ((values.get(key) ?? 0n) !== answers[index])
        throw new Error(`the call ${key} returns ${answers[index]}, and ${values.get(key)} was noted`);
  }

  /** Makes no more blocks, and asks for nothing. */
  async end(): Promise<void> {
    this.#isOn = false;
    await this.#making;
  }

  async #make(): Promise<void> {
    while (this.#isOn) {
      const dueAtMs = performance.now() + BLOCK_MS;
      try {
        await this.#catchUp();
        await this.#askAll([{ method: 'evm_mine', params: [] }]);
        await this.#catchUp();
        this.#failure = undefined;
      } catch (error) {
        this.#failure = error;
      }
      await pause(Math.max(PAUSE_MS_MIN, dueAtMs - performance.now()));
    }
  }

  async #catchUp(): Promise<void> {
    const subjects = this.#subjects;
    if (subjects === undefined) return;
    const [head] = await this.#askAll([{ method: 'eth_blockNumber', params: [] }]);
    if (this.#last < 0) this.#last = Number(head) - 1;
    while (this.#last < Number(head)) await this.#take(this.#last + 1, subjects);
  }

  async #take(number: number, subjects: Subjects): Promise<void> {
    const { protocol } = subjects;
    const at = hexOf(number);
    const [block, logs] = (await this.#askAll([
      { method: 'eth_getBlockByNumber', params: [at, false] },
      { method: 'eth_getLogs', params: [{ fromBlock: at, toBlock: at, address: protocol }] },
    ])) as [{ timestamp: string }, Log[]];
    // Only the protocol's own logs change an order, and they name the order.
    const orders = new Set(logs.flatMap(({ topics: [, , orderHash] }) => orderHash ?? []));
    for (const log of logs) {
      const place = { blockNumber: number, logIndex: Number(log.logIndex), seconds: Number(block.timestamp) };
      const fill = readLoggedFill(log, place);
      if (fill !== undefined) this.#fills.push(fill);
    }
    const reads = [...readsOf(subjects), ...[...orders].flatMap((hash) => readsOfOrder(hash, protocol))];
    const answers = await this.#read(reads, number);
    for (const [index, { key }] of reads.entries()) this.#set(key, number, answers[index] ?? 0n);
    const values = { get: (key: string) => this.#valueAt(key, number) };
    this.#blocks.set(number, { header: { number, timestamp: Number(block.timestamp) }, values });
    this.#last = number;
  }

  async #read(reads: readonly Read[], number: number): Promise<bigint[]> {
    const questions = reads.map(({ to, data }) => ({ method: 'eth_call', params: [{ to, data }, hexOf(number)] }));
    const answers: unknown[] = [];
    while (answers.length < questions.length)
      answers.push(...(await this.#askAll(questions.slice(answers.length, answers.length + QUESTIONS_AT_ONCE))));
    return answers.map((answer) => BigInt(String(answer)));
  }

  #set(key: string, since: number, value: bigint): void {
    const own = this.#values.get(key) ?? [];
    this.#values.set(key, own);
    if ((own.at(-1)?.value ?? 0n) !== value) own.push({ since, value });
  }

  #valueAt(key: string, number: number): bigint | undefined {
    return this.#values.get(key)?.findLast(({ since }) => since <= number)?.value;
  }
}

interface Log {
  readonly topics: Hex[];
  readonly data: Hex;
  readonly logIndex: string;
}

/** A call that is encoded by ethers, and the key under which a judge finds its result. */
interface Read {
  readonly key: string;
  readonly to: Address;
  readonly data: string;
}

function readsOf({ protocol, makers, tokens }: Subjects): Read[] {
  return makers.flatMap((maker) => [
    readOf(nonceOf(protocol, maker), 'nonce', maker),
    ...tokens.flatMap((token) => [
      readOf(balanceOf(token, maker), 'balanceOf', maker),
      readOf(allowance(token, maker, protocol), 'allowance', maker, protocol),
    ]),
  ]);
}

function readsOfOrder(hash: Hex, protocol: Address): Read[] {
  return [readOf(filledOf(protocol, hash), 'filled', hash), readOf(cancelledOf(protocol, hash), 'cancelled', hash)];
}

function readOf(call: StateCall, method: string, ...args: readonly string[]): Read {
  return { key: keyOf(call), to: call.to, data: abi.encodeFunctionData(method, args) };
}

function hexOf(value: number): string {
  return `0x${value.toString(16)}`;
}
