import { type Node, readBlockAndHead, readLogs } from '@makerbook/chain';
import type { BlockSource } from './block-source.js';
import { triggerTopics } from './match-logs.js';

export interface PollOptions {
  readonly node: Node;
  /** False where nothing can be read from the chain: then only headers are asked for. */
  readonly withLogs: boolean;
  readonly pollIntervalMs: number;
  readonly wait: (ms: number) => Promise<void>;
}

/** Blocks over JSON-RPC: one request for the header, one for its logs by its hash, whoever is watched. */
export function pollBlocks({ node, withLogs, pollIntervalMs, wait }: PollOptions): BlockSource {
  let head: number | undefined;
  return {
    next: async (number) => {
      const { block: header, headNumber } = await readBlockAndHead(node, number);
      head = Math.max(headNumber, header?.number ?? 0);
      if (header === undefined) return undefined;
      return { header, logs: withLogs ? await readLogs(node, header.hash, { topics: triggerTopics }) : [] };
    },
    waitForMore: () => wait(pollIntervalMs),
    headNumber: () => head,
    stop: async () => {},
  };
}
