import { type Node, readBlock } from '@makerbook/chain';
import { isRetryable } from '../retry.js';
import type { BlockSource } from './source.js';

/** The block loop asks for a block in each interval. */
const QUIET_INTERVALS = 2;

export interface WatchHeadOptions {
  readonly node: Node;
  readonly nowMs: () => number;
  readonly wait: (ms: number) => Promise<void>;
  readonly signal: AbortSignal;
  /** The source is of another chain. */
  readonly onFatal: (error: Error) => void;
  /** How often the node is asked while nobody asks for blocks. */
  readonly intervalMs: number;
}

/**
 * The same source, which knows its head also while no block is asked of it: by a standby, or a block loop that is stuck. All
 * endpoints of the node are asked, when nobody has asked for a block for some time, and the source is held to their chain.
 */
export function watchHead(
  source: BlockSource,
  { node, nowMs, wait, signal, intervalMs, onFatal }: WatchHeadOptions,
): BlockSource {
  let askedAtMs = nowMs();
  let apart: { readonly number: number; readonly atMs: number } | undefined;
  const watch = async () => {
    while (!signal.aborted) {
      await wait(intervalMs);
      if (signal.aborted || nowMs() - askedAtMs < QUIET_INTERVALS * intervalMs) continue;
      // Asks all endpoints, because the preferred one may lag. If none answers, the known head stays.
      const asked = await Promise.allSettled(node.endpoints().map((each) => readBlock(each, 'latest')));
      const numbers = asked.flatMap((each) => (each.status === 'fulfilled' ? (each.value?.number ?? []) : []));
      await source.verify().catch((error) => isRetryable(error) || onFatal(error));
      if (numbers.length > 0) apart = { number: Math.max(...numbers), atMs: nowMs() };
    }
  };
  const watching = watch();
  return {
    next: async (number) => {
      try {
        return await source.next(number);
      } finally {
        askedAtMs = nowMs();
      }
    },
    verify: () => source.verify(),
    isSubscribed: () => source.isSubscribed(),
    counts: () => source.counts(),
    headNumber: () => (apart !== undefined && apart.atMs > askedAtMs ? apart.number : source.headNumber()),
    stop: async () => {
      await source.stop();
      await watching;
    },
  };
}
