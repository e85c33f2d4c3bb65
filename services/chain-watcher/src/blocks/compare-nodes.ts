import { type BlockAndHead, type Node, readBlockAndHead } from '@makerbook/chain';

/** A node that does not have a block which another one has. */
export interface NodeLag {
  readonly endpoint: string;
  readonly headNumber: number;
  readonly otherEndpoint: string;
  readonly otherHeadNumber: number;
}

export interface CompareOptions {
  readonly node: Node;
  readonly nowMs: () => number;
  /** Called once for a node that lags; again only after it has had a block that was asked of it. */
  readonly onLag: (lag: NodeLag) => void;
  /** The node is passed over: a caller that waits for a block may ask again at once. */
  readonly onPassedOver: () => void;
}

export interface NodeComparison {
  /** An endpoint does not have the block: asks, beside everything else, whether another one does. */
  doubt(number: number, lacking: BlockAndHead): void;
  /** The endpoint has a block that was asked of it. */
  trust(endpoint: string): void;
}

/**
 * A node that answers but has no new blocks fails no call, so no call would ever go to the next one. It is compared with
 * the others, and passed over for some seconds where one of them is further.
 */
export function compareNodes({ node, nowMs, onLag, onPassedOver }: CompareOptions): NodeComparison {
  let isComparing = false;
  let comparedAtMs = Number.NEGATIVE_INFINITY;
  let lagging: string | undefined;

  const compare = async (number: number, { endpoint, headNumber }: BlockAndHead) => {
    const others = node.endpoints().filter((other) => other.name !== endpoint && !other.isResting());
    const asked = others.map(async (other) => {
      const answer = await readBlockAndHead(other, number);
      if (answer.block === undefined) throw new Error(`${other.name} does not have it either`);
      return answer;
    });
    try {
      // The first that has it: another one may hang.
      const ahead = await Promise.any(asked);
      node.passOver(endpoint);
      if (lagging !== endpoint) {
        onLag({ endpoint, headNumber, otherEndpoint: ahead.endpoint, otherHeadNumber: ahead.headNumber });
      }
      lagging = endpoint;
      onPassedOver();
    } catch (error) {
      // No node has the block. A node of another chain is found when it is asked for values.
      if (!(error instanceof AggregateError)) throw error;
    }
  };

  return {
    doubt: (number, lacking) => {
      if (isComparing || nowMs() - comparedAtMs < COMPARE_MS_MIN) return;
      isComparing = true;
      comparedAtMs = nowMs();
      void compare(number, lacking).finally(() => {
        isComparing = false;
      });
    },
    trust: (endpoint) => {
      if (endpoint === lagging) lagging = undefined;
    },
  };
}

const COMPARE_MS_MIN = 1000;
