import type { BlockHeader, ChainLog, StateCall } from '@makerbook/chain';
import type { Address, Hex } from '@makerbook/contracts-primitives';

/** The parts of a block that the judges read. */
export interface JudgedBlock {
  readonly header: Pick<BlockHeader, 'number' | 'timestamp'>;
  /** Results of the calls after the block, keyed by `keyOf`. A missing result is 0. */
  readonly values: Pick<ReadonlyMap<string, bigint>, 'get'>;
}

export interface Block extends JudgedBlock {
  readonly header: BlockHeader;
  readonly logs: readonly ChainLog[];
  readonly values: ReadonlyMap<string, bigint>;
}

/** A chain in memory: the state of its contracts after each block, and the logs. */
export class Chain {
  readonly #blocks: Block[] = [];
  readonly #values = new Map<string, bigint>();
  #logs: (Pick<ChainLog, 'address' | 'topics' | 'data'> & { readonly transaction: number })[] = [];
  #transaction = 0;
  readonly #listeners: ((block: Block) => void)[] = [];

  /** Throws before the first block. */
  get head(): Block {
    return this.at(this.#blocks.length - 1);
  }

  /** Throws if there is no such block. */
  at(number: number): Block {
    const block = this.#blocks[number];
    if (block === undefined) throw new Error(`the chain has no block ${number}`);
    return block;
  }

  find(hash: Hex): Block | undefined {
    return this.#blocks[Number.parseInt(hash.slice(-8), 16)];
  }

  /** The result of the call, given what the next block has done so far. */
  value(call: StateCall): bigint {
    return this.#values.get(keyOf(call)) ?? 0n;
  }

  set(call: StateCall, value: bigint): void {
    this.#values.set(keyOf(call), value);
  }

  /** Calls `listen` with each new block. */
  onBlock(listen: (block: Block) => void): void {
    this.#listeners.push(listen);
  }

  /** @param isNext the log belongs to the transaction of the log before it */
  emit(address: Address, topics: readonly Hex[], data: Hex = '0x', isNext = false): void {
    this.#transaction += isNext ? 0 : 1;
    this.#logs.push({ address, topics, data, transaction: this.#transaction });
  }

  mine(timestamp: number): Block {
    const number = this.#blocks.length;
    const header = { number, hash: hashOf(number), parentHash: hashOf(Math.max(0, number - 1)), timestamp };
    const logs = this.#logs.map(
      ({ address, topics, data, transaction }, logIndex): ChainLog => ({
        address,
        topics,
        data,
        blockNumber: number,
        blockHash: header.hash,
        transactionHash: hashOf(1_000_000 + transaction),
        logIndex,
      }),
    );
    const block: Block = { header, logs, values: new Map(this.#values) };
    this.#logs = [];
    this.#blocks.push(block);
    for (const listen of this.#listeners) listen(block);
    return block;
  }
}

/** The result of the call after the block. */
export function valueAt({ values }: JudgedBlock, call: StateCall): bigint {
  return values.get(keyOf(call)) ?? 0n;
}

/** Names a call among the values of a block. */
export function keyOf({ to, data }: StateCall): string {
  return to + data;
}

function hashOf(number: number): Hex {
  return `0x${number.toString(16).padStart(64, '0')}`;
}
