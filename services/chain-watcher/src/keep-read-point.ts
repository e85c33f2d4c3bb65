import {
  type BlockHeader,
  ChainContradiction,
  type Node,
  RpcUnavailable,
  readBlock,
  readBlockAndNewest,
} from '@makerbook/chain';

export interface ReadPointOptions {
  readonly node: Node;
  readonly nowMs: () => number;
  /** Nodes forget older state: what is further than this behind the head is read at the head instead. */
  readonly stateBlocksMax: number;
}

/**
 * The block at which values are read: the one whose logs were matched last, or a newer one where a node may have
 * forgotten that state. A newer one does no harm where all of a maker is read at it (`readTouched`), as every value says at
 * which block it was read.
 */
export class ReadPoint {
  private readonly options: ReadPointOptions;
  private block: BlockHeader | undefined;
  private checkedAtMs = 0;

  constructor(options: ReadPointOptions) {
    this.options = options;
  }

  /** False before the first block: then nothing can be read. */
  get isKnown(): boolean {
    return this.block !== undefined;
  }

  /**
   * Throws RpcUnavailable or RpcRefused; ChainContradiction where the newest block would be chosen and the node does not
   * have the matched one below it: nothing of another branch may be read, and whoever reads may be here before the next
   * block is compared.
   * @param headNumber the newest block that is known of; undefined: the node is asked.
   */
  async choose(matched: BlockHeader, headNumber: number | undefined): Promise<BlockHeader> {
    const { node, stateBlocksMax } = this.options;
    if (headNumber !== undefined && headNumber - matched.number <= stateBlocksMax) return matched;
    const { block, newest, endpoint } = await readBlockAndNewest(node, matched.number);
    if (newest.number - matched.number <= stateBlocksMax) return matched;
    if (block?.hash !== matched.hash) {
      throw new ChainContradiction(
        `block ${matched.number} is ${block?.hash} on the chain of ${endpoint}, but ${matched.hash} was followed: another chain, or a reorganisation of final blocks. Nothing more is published.`,
      );
    }
    return newest;
  }

  moveTo(block: BlockHeader): void {
    this.block = block;
    this.checkedAtMs = this.options.nowMs();
  }

  /** The block to read at, looked after where it has not moved for long. Throws as `choose`. */
  async at(): Promise<BlockHeader> {
    if (this.block === undefined) throw new Error('nothing is read before any block is known');
    if (this.options.nowMs() - this.checkedAtMs <= AGE_MS_MAX) return this.block;
    const chosen = await this.choose(this.block, undefined);
    // It may have been moved meanwhile.
    if (chosen.number >= this.block.number) this.moveTo(chosen);
    return this.block;
  }
}

/** The node's newest block. Throws RpcUnavailable or RpcRefused. */
export async function readHead(node: Node): Promise<BlockHeader> {
  const head = await readBlock(node, 'latest');
  if (head === undefined) throw new RpcUnavailable('the node has no newest block');
  return head;
}

const AGE_MS_MAX = 10_000;
