import type { BlockHeader, ChainLog } from '@makerbook/chain';
import type { Hex } from '@makerbook/contracts-primitives';

/** A block with those of its logs that can touch anybody, in their order. */
export interface SourceBlock {
  readonly header: BlockHeader;
  readonly logs: readonly ChainLog[];
  /** Undefined where the source has none: then any address may have a log. */
  readonly logsBloom: Hex | undefined;
  /** Name of the node's endpoint that gave the header; absent where it came from a topic. */
  readonly endpoint?: string;
}

/** A source of blocks. Every source gives the same blocks of a chain. */
export interface BlockSource {
  /** The block with this number; undefined when it is not there yet. Throws RpcUnavailable, RpcRefused or ChainContradiction. */
  next(number: number): Promise<SourceBlock | undefined>;
  /** Resolves when there may be another block, at the latest after the source's poll interval. */
  waitForMore(): Promise<void>;
  /** Throws ChainContradiction where it is of another chain than JSON-RPC; before a block shows it, it does nothing. */
  verify?(): Promise<void>;
  /** Number of the newest block that the source knows of; undefined before the first. */
  headNumber(): number | undefined;
  stop(): Promise<void>;
}
