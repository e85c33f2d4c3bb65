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
 * Chooses the block to read at: the matched one, or the head where that is too old for the nodes, or where the log has
 * newer readings already. So readings never go back. At a newer block than the matched one all of a maker is read: no
 * order is judged by values of different blocks.
 */
export class ReadingBlocks {
  readonly #parts: ReadingParts;
  #newest = -1;

  constructor(parts: ReadingParts) {
    this.#parts = parts;
  }

  /**
   * @param matched the newest block whose logs were matched
   * @throws RpcUnavailable or RpcRefused; ChainContradiction where the node's chain does not hold the matched block
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
 * A block that was matched or published, as a node has it, and the node's newest one.
 * @param floor the node must have this block too
 * @throws RpcUnavailable where the node is behind: another one is asked then. ChainContradiction where it has another
 * block of the number
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
