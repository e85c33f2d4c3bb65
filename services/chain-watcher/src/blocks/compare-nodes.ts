import { type BlockAndHead, type Node, readBlockAndHead } from '@makerbook/chain';

const COMPARE_MS_MIN = 1000;

export interface CompareOptions {
  readonly node: Node;
  readonly nowMs: () => number;
  /** Called once for a node that lags, with what it has and another one; again only after it has had a block that is due. */
  readonly onLag: (lag: Readonly<Record<string, string | number>>) => void;
}

/**
 * Finds out which node lags. One that answers but has no new blocks fails no call, so no call would ever go to the next one:
 * it is passed over for some seconds where another one is further.
 */
export class NodeComparison {
  readonly #options: CompareOptions;
  #comparedAtMs = Number.NEGATIVE_INFINITY;
  #lagging: string | undefined;

  constructor(options: CompareOptions) {
    this.#options = options;
  }

  /** Notes that the node had the block that was due. */
  noteGiven(endpoint: string): void {
    if (endpoint === this.#lagging) this.#lagging = undefined;
  }

  /** Compares a node that lacks the block with the others, once a second at most. True if it lags, and is passed over. */
  async lags(number: number, { endpoint, headNumber }: BlockAndHead): Promise<boolean> {
    const { node, nowMs, onLag } = this.#options;
    if (nowMs() - this.#comparedAtMs < COMPARE_MS_MIN) return false;
    this.#comparedAtMs = nowMs();
    const ahead = await findAhead(node, number, endpoint);
    if (ahead === undefined) return false;
    node.passOver(endpoint);
    if (this.#lagging !== endpoint) {
      onLag({ endpoint, headNumber, otherEndpoint: ahead.endpoint, otherHeadNumber: ahead.headNumber });
    }
    this.#lagging = endpoint;
    return true;
  }
}

/** Asks the other nodes for a block. Gives the answer of the first that has it, or undefined if none has. */
async function findAhead(node: Node, number: number, lacking: string): Promise<BlockAndHead | undefined> {
  const others = node.endpoints().filter((other) => other.name !== lacking && !other.isResting());
  const asked = others.map(async (other) => {
    const answer = await readBlockAndHead(other, number);
    if (answer.block === undefined) throw new Error(`${other.name} does not have it either`);
    return answer;
  });
  // The first that has it: another one may hang. A node of another chain is found when it is asked for values.
  return await Promise.any(asked).catch(() => undefined);
}
