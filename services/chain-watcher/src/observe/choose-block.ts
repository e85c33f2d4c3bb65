import { type BlockHeader, ChainContradiction, type Node, RpcUnavailable, readBlockAndNewest } from '@makerbook/chain';

export interface ReadingOptions {
  readonly node: Node;
  /** Nodes forget older state: what is further than this behind the head is read at the head. */
  readonly stateBlocksMax: number;
  readonly headNumber: () => number | undefined;
  /** The newest block at which the log holds a reading; -1 where it holds none. */
  readonly newestRead: () => number;
}

/**
 * Chooses the block to read at: the matched one, or the head where that is too old for the nodes, or where the log has
 * newer readings already. So readings never go back. At a newer block than the matched one all of a maker is read: no order
 * is judged by values of different blocks.
 */
export class ReadingBlocks {
  private readonly options: ReadingOptions;
  private newest = -1;

  constructor(options: ReadingOptions) {
    this.options = options;
  }

  /**
   * @param matched the newest block whose logs were matched
   * @throws RpcUnavailable or RpcRefused; ChainContradiction where the node's chain does not hold the matched block
   */
  async choose(matched: BlockHeader): Promise<BlockHeader> {
    const { node, stateBlocksMax, headNumber, newestRead } = this.options;
    const floor = Math.max(this.newest, newestRead());
    const head = headNumber() ?? matched.number;
    if (matched.number >= floor && head - matched.number <= stateBlocksMax) return this.take(matched);
    const { block, newest, endpoint } = await readBlockAndNewest(node, matched.number);
    if (newest.number < Math.max(floor, matched.number)) {
      node.passOver(endpoint, PASSED_OVER_MS);
      throw new RpcUnavailable(`${endpoint} has block ${newest.number} only, but block ${floor} was read before`);
    }
    if (block?.hash !== matched.hash) {
      throw new ChainContradiction(
        `block ${matched.number} is ${block?.hash} on the chain of ${endpoint}, but ${matched.hash} was followed: another chain, or a reorganisation of final blocks. Nothing more is published.`,
      );
    }
    const isNear = matched.number >= floor && newest.number - matched.number <= stateBlocksMax;
    return this.take(isNear ? matched : newest);
  }

  private take(at: BlockHeader): BlockHeader {
    this.newest = Math.max(this.newest, at.number);
    return at;
  }
}

/** A node that lacks a block is asked last for so long. */
export const PASSED_OVER_MS = 5000;
