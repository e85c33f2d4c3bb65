import type { Node } from '@makerbook/chain';
import type { BlockSource } from './block-source.js';
import { readHead } from './keep-read-point.js';

export interface WatchHeadOptions {
  readonly node: Node;
  readonly nowMs: () => number;
  readonly wait: (ms: number) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * The same source, which knows its head also while no block is asked of it: a block loop that stands still would else
 * look as if it stood at the head. The node is asked only after some seconds without a question.
 */
export function watchHead(source: BlockSource, { node, nowMs, wait, signal }: WatchHeadOptions): BlockSource {
  let askedAtMs = nowMs();
  let apart: { readonly number: number; readonly atMs: number } | undefined;
  const watch = async () => {
    while (!signal.aborted) {
      await wait(SILENCE_MS_MAX);
      if (signal.aborted || nowMs() - askedAtMs < SILENCE_MS_MAX) continue;
      try {
        const { number } = await readHead(node);
        apart = { number, atMs: nowMs() };
      } catch {
        // Who needs the node says what is wrong with it; the head that is known stays.
      }
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
    waitForMore: () => source.waitForMore(),
    headNumber: () => (apart !== undefined && apart.atMs > askedAtMs ? apart.number : source.headNumber()),
    stop: async () => {
      await source.stop();
      await watching;
    },
  };
}

const SILENCE_MS_MAX = 5000;
