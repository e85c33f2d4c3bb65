import { type BlockAndHead, type Node, readBlockAndHead } from '@makerbook/chain';
import type { MonotonicMs } from '@makerbook/contracts-primitives';

const COMPARE_MS_MIN = 1000;
const TELL_MS_MIN = 60_000;

export interface CompareOptions {
  readonly node: Node;
  readonly monotonicMs: () => MonotonicMs;
  /** Called for a node that lags, at most once a minute, with its head and that of a node ahead of it. */
  readonly onLag: (lag: Readonly<Record<string, string | number>>) => void;
}

/**
 * Finds out which node lags. A node that answers but gets no new blocks fails no call, so no call would ever move to
 * the next node. Passes it over for some seconds if another node is ahead.
 * @returns a function that compares a node without the block with the others, at most once a second; true if it lags
 */
export function compareNodes({ node, monotonicMs, onLag }: CompareOptions) {
  let comparedAtMs = Number.NEGATIVE_INFINITY;
  let toldAtMs = Number.NEGATIVE_INFINITY;
  return async (number: number, { endpoint, headNumber }: BlockAndHead): Promise<boolean> => {
    if (monotonicMs() - comparedAtMs < COMPARE_MS_MIN) return false;
    comparedAtMs = monotonicMs();
    const others = node.endpoints().filter((other) => other.name !== endpoint && !other.isResting());
    const asked = others.map(async (other) => {
      const answer = await readBlockAndHead(other, number);
      if (answer.headNumber <= headNumber) throw new Error(`${other.name} is not further`);
      return answer;
    });
    // Take the first node that is ahead, because another may hang. Reading values detects a node of another chain.
    const ahead = await Promise.any(asked).catch(() => undefined);
    if (ahead === undefined) return false;
    node.passOver(endpoint);
    if (monotonicMs() - toldAtMs >= TELL_MS_MIN) {
      toldAtMs = monotonicMs();
      onLag({ endpoint, headNumber, otherEndpoint: ahead.endpoint, otherHeadNumber: ahead.headNumber });
    }
    return true;
  };
}
