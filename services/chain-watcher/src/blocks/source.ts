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

/** Gives the blocks of a chain, each from whichever source has it first. */
export interface BlockSource {
  /**
   * The block with this number. Undefined when it is not there yet: then the call has waited for news, or for a while.
   * Throws RpcUnavailable, RpcRefused or ChainContradiction.
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
