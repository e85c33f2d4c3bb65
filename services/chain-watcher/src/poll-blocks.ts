import { type HeadSubscription, type Node, readBlockAndHead, readLogs, subscribeHeads } from '@makerbook/chain';
import type { BlockSource } from './block-source.js';
import { triggerTopics } from './match-logs.js';

export interface PollOptions {
  readonly node: Node;
  /** False where nothing can be read from the chain: then only headers are asked for. */
  readonly withLogs: boolean;
  readonly pollIntervalMs: number;
  readonly wait: (ms: number) => Promise<void>;
  /** `ws://` of a node that announces blocks; undefined: blocks are found by polling alone. */
  readonly wsUrl: string | undefined;
  readonly onSubscriptionBroken: (reason: string) => void;
}

/**
 * Blocks over JSON-RPC: one request for the header, one for its logs by its hash, whoever is watched. A subscription
 * only says that there is news: polling goes on beside it, so that nothing depends on it.
 */
export function pollBlocks(options: PollOptions): BlockSource {
  const { node, withLogs, pollIntervalMs, wait, wsUrl, onSubscriptionBroken } = options;
  let head: number | undefined;
  let hasNews = false;
  let wake: () => void = () => undefined;
  const onHead = () => {
    hasNews = true;
    wake();
  };
  const subscription: HeadSubscription | undefined =
    wsUrl === undefined ? undefined : subscribeHeads({ url: wsUrl, onHead, onBroken: onSubscriptionBroken });
  return {
    next: async (number) => {
      hasNews = false;
      const { block: header, headNumber } = await readBlockAndHead(node, number);
      head = Math.max(headNumber, header?.number ?? 0);
      if (header === undefined) return undefined;
      return { header, logs: withLogs ? await readLogs(node, header.hash, { topics: triggerTopics }) : [] };
    },
    waitForMore: async () => {
      if (hasNews) return;
      const announced = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([wait(pollIntervalMs), announced]);
    },
    headNumber: () => head,
    stop: async () => subscription?.close(),
  };
}
