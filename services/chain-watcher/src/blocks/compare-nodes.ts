import { type BlockAndHead, type Node, readBlockAndHead } from '@makerbook/chain';
import type { MonotonicMs } from '@makerbook/contracts-primitives';

const COMPARE_MS_MIN = 1000;
const TELL_MS_MIN = 60_000;

export interface CompareOptions {
  readonly node: Node;
  readonly monotonicMs: () => MonotonicMs;
  /** Called for a node that lags, with what it has and another one, once a minute at most. */
  readonly onLag: (lag: Readonly<Record<string, string | number>>) => void;
}

/**
 * Finds out which node lags. One that answers but has no new blocks fails no call, so no call would ever go to the next
 * one: it is passed over for some seconds where another one is further.
 * @returns compares a node that lacks the block with the others, once a second at most: true if it lags
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
    // The first that is further: another one may hang. A node of another chain is found when it is asked for values.
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
