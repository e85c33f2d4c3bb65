import { ChainContradiction } from '@makerbook/chain';
import type { Following, Log, Logger, StoredRecord } from '@makerbook/kafka';
import type { BlockSource, SourceBlock } from './block-source.js';
import { createSegmentJoiner } from './join-segments.js';
import { parseBlockgroup } from './parse-blockgroup.js';

export interface BlockgroupOptions {
  /** The Kafka that the Kaia node writes to. */
  readonly log: Log;
  /** `{env}.klaytn.chaindatafetcher.{resource}.blockgroup.v1` */
  readonly topic: string;
  /** Gives what the topic does not: blocks that are missing in it, and those of the time before it. */
  readonly gaps: BlockSource;
  readonly logger: Logger;
  readonly nowMs: () => number;
  readonly wait: (ms: number) => Promise<void>;
  /** How long a block may be missing once a later one is there. */
  readonly gapMsMax: number;
  /** How long no block at all may come, before JSON-RPC is asked. */
  readonly silenceMsMax: number;
  /** Blocks held that are not due yet. */
  readonly blocksMax: number;
  readonly onGap: () => void;
}

/**
 * Blocks out of the Kafka topic of a Kaia node's chaindatafetcher. Delivery there is at least once and unordered, with
 * repeats and gaps: blocks are handed out by number, and those that do not come are asked of JSON-RPC.
 * `next` throws ChainContradiction where the topic is of another chain than JSON-RPC.
 */
export function followBlockgroups(options: BlockgroupOptions): BlockSource {
  const { log, topic, gaps, logger, nowMs, wait, gapMsMax, silenceMsMax, blocksMax, onGap } = options;
  const joiner = createSegmentJoiner();
  const blocks = new Map<number, SourceBlock>();
  let due: number | undefined;
  let missingSinceMs = 0;
  let newest: number | undefined;
  let toVerify: SourceBlock | undefined;
  let isVerified = false;
  let oldest: number | undefined;
  let firstAtMs = 0;
  let lastAtMs = nowMs();
  /** Blocks that were handed out within `silenceMsMax`, in their order. */
  const recent: { readonly number: number; readonly atMs: number }[] = [];
  let wake: () => void = () => undefined;

  const keep = (block: SourceBlock) => {
    const { number } = block.header;
    lastAtMs = nowMs();
    if (oldest === undefined) firstAtMs = lastAtMs;
    oldest = Math.min(oldest ?? number, number);
    newest = Math.max(newest ?? 0, number);
    if (!isVerified) toVerify = block;
    if ((due !== undefined && number < due) || blocks.has(number)) return;
    blocks.set(number, block);
    // Before the first question nobody knows what is due: then the newest are kept, later those that are due first.
    if (blocks.size > blocksMax)
      blocks.delete(due === undefined ? Math.min(...blocks.keys()) : Math.max(...blocks.keys()));
    if (due === undefined || number === due) wake();
  };
  const isSilent = () => nowMs() - lastAtMs >= silenceMsMax;
  const noteHandedOut = (number: number) => {
    recent.push({ number, atMs: nowMs() });
    if (recent.length > blocksMax) recent.shift();
  };
  /**
   * A block that is not wanted any more. Where JSON-RPC gives all, one that it gave just now is looked at all the same: it
   * shows that the topic is there again. Much older ones, which the node makes up for, show nothing of the next.
   */
  const isPast = (number: number) => {
    if (due === undefined || number >= due) return false;
    if (!isSilent()) return true;
    while (recent[0] !== undefined && nowMs() - recent[0].atMs >= silenceMsMax) recent.shift();
    return number < (recent[0]?.number ?? due);
  };
  const onRecords = (partition: number, records: readonly StoredRecord[]) => {
    for (const { key, value, headers, offset } of records) {
      if (isPast(Number(key))) continue;
      const message = joiner.add({ partition, key, value, headers });
      if (message === undefined) continue;
      const block = Buffer.isBuffer(message) ? parseBlockgroup(message) : message;
      if ('unreadable' in block) {
        logger.warn({ topic, partition, offset: String(offset), reason: block.unreadable }, 'unreadable block');
      } else keep(block);
    }
  };
  const following: Following = log.followTopic({
    topic,
    // What came before is asked of JSON-RPC, the few blocks that are missed: a node's topic may hold days.
    from: 'end',
    headerEncoding: 'latin1',
    onRecords,
    onFatal: (error) =>
      logger.error({ error, topic }, 'the blocks of the topic cannot be followed: JSON-RPC gives all'),
  });

  /** A topic of another network is told by one of its blocks: its numbers alone would keep the watcher waiting. */
  const verify = async ({ header }: SourceBlock) => {
    const { number, hash } = header;
    const same = await gaps.next(number);
    if (same === undefined) {
      const behind = number - (gaps.headNumber() ?? number);
      if (behind <= AHEAD_BLOCKS_MAX) return;
      throw new ChainContradiction(`${topic} is ${behind} blocks ahead of JSON-RPC: is it of another network?`);
    }
    if (same.header.hash !== hash) {
      throw new ChainContradiction(`block ${number} is ${hash} in ${topic}, but ${same.header.hash} by JSON-RPC`);
    }
    isVerified = true;
    toVerify = undefined;
  };

  /** Whether a block that is not there need not be waited for any longer. */
  const isOverdue = (number: number) => {
    if (newest === undefined || oldest === undefined || newest < number) return isSilent();
    // Of the time before the topic was followed nothing will come, but for what came out of order at the very start.
    return nowMs() - (number < oldest ? firstAtMs : missingSinceMs) >= gapMsMax;
  };

  return {
    next: async (number) => {
      if (toVerify !== undefined) await verify(toVerify);
      if (due !== number) {
        if (due !== undefined) noteHandedOut(due);
        due = number;
        missingSinceMs = nowMs();
        for (const held of blocks.keys()) if (held < number) blocks.delete(held);
      }
      const block = blocks.get(number);
      if (block !== undefined) return block;
      if (!isOverdue(number)) return undefined;
      const filled = await gaps.next(number);
      if (filled !== undefined) onGap();
      return filled;
    },
    waitForMore: () =>
      Promise.race([
        gaps.waitForMore(),
        wait(gapMsMax),
        new Promise<void>((resolve) => {
          wake = resolve;
        }),
      ]),
    headNumber: () => {
      const head = gaps.headNumber();
      return newest === undefined ? head : Math.max(newest, head ?? 0);
    },
    stop: async () => {
      await following.stop();
      await gaps.stop();
    },
  };
}

/** A node that answers JSON-RPC may lag behind the one that writes the topic; some 15 minutes. */
const AHEAD_BLOCKS_MAX = 900;
