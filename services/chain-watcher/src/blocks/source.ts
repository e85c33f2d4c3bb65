import type { BlockHeader, ChainLog } from '@makerbook/chain';
import type { Hex } from '@makerbook/contracts-primitives';

/** A block and, in order, those of its logs that can touch a maker. */
export interface SourceBlock {
  readonly header: BlockHeader;
  readonly logs: readonly ChainLog[];
  /** Undefined if the source gives none: then any address may have a log. */
  readonly logsBloom: Hex | undefined;
  /** Name of the node's endpoint that gave the header; absent if the header came from a topic. */
  readonly endpoint?: string;
}

/** Gives the blocks of a chain, each from whichever source has it first. */
export interface BlockSource {
  /**
   * Returns the block with this number. Undefined if it is not there yet, after waiting for news or for a while. Throws
   * RpcUnavailable, RpcRefused or ChainContradiction.
   */
  next(number: number): Promise<SourceBlock | undefined>;
  /** Number of the newest block that any source knows of; undefined before the first. */
  headNumber(): number | undefined;
  /** True while a node announces its blocks. */
  isSubscribed(): boolean;
  /** How often `next` was called, and since when the topic has given no block; undefined without a topic. */
  counts(): { readonly turns: number; readonly topicSilentSinceMs: number | undefined };
  stop(): Promise<void>;
}
