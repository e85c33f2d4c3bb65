import { type BlockHeader, ChainContradiction, type Node, RpcUnavailable, readBlockAndNewest } from '@makerbook/chain';
import type { BlockSource } from '../blocks/source.js';
import type { FollowedLog, LogBlock } from '../watch/follow-log.js';

interface ReadingParts {
  readonly node: Node;
  readonly source: Pick<BlockSource, 'headNumber'>;
  readonly followed: Pick<FollowedLog, 'newestRead'>;
  readonly settings: { readonly STATE_BLOCKS_MAX: number };
}

/**
 * Chooses the block to read at: the matched one, or the head if the matched one is too old for the nodes or the log
 * already has newer readings. So readings never go back. At a block newer than the matched one everything of a maker is
 * read, so that no order is judged by values of different blocks.
 */
export class ReadingBlocks {
  readonly #parts: ReadingParts;
  #newest = -1;

  constructor(parts: ReadingParts) {
    this.#parts = parts;
  }

  /**
   * @param matched the newest block whose logs were matched
   * @throws RpcUnavailable or RpcRefused; ChainContradiction if the node's chain does not hold the matched block
   */
  async choose(matched: BlockHeader): Promise<BlockHeader> {
    const { node, source, followed, settings } = this.#parts;
    const floor = Math.max(this.#newest, followed.newestRead);
    const isNear = (head: number) => matched.number >= floor && head - matched.number <= settings.STATE_BLOCKS_MAX;
    if (isNear(source.headNumber() ?? matched.number)) return this.#take(matched);
    const { newest } = await readKnown(node, matched, floor);
    return this.#take(isNear(newest.number) ? matched : newest);
  }

  #take(at: BlockHeader): BlockHeader {
    this.#newest = Math.max(this.#newest, at.number);
    return at;
  }
}

/**
 * Reads from a node a block that was matched or published, and the node's newest block.
 * @param floor the node must have this block too
 * @throws RpcUnavailable if the node is behind: then another node is asked. ChainContradiction if it has another block
 * with the number
 */
export async function readKnown(
  node: Node,
  { number, hash }: Pick<LogBlock, 'number' | 'hash'>,
  floor = number,
): Promise<{ readonly block: BlockHeader; readonly newest: BlockHeader }> {
  const { block, newest, endpoint } = await readBlockAndNewest(node, number);
  if (block === undefined || newest.number < floor) {
    node.passOver(endpoint);
    const known = Math.max(number, floor);
    throw new RpcUnavailable(`${endpoint} has block ${newest.number} only, but block ${known} was read or published`);
  }
  if (hash !== undefined && block.hash !== hash) {
    throw new ChainContradiction(
      `block ${number} is ${block.hash} on the chain of ${endpoint}, but ${hash} was published or followed: another chain, or a reorganisation of final blocks. Nothing more is published.`,
    );
  }
  return { block, newest };
}
