import { ChainContradiction } from '@makerbook/chain';
import type { Following, Log, Logger, StoredRecord } from '@makerbook/kafka';
import { SegmentJoiner } from './join-segments.js';
import { parseBlockgroup } from './parse-blockgroup.js';
import type { BlockSource, SourceBlock } from './source.js';

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
 * repeats and gaps: blocks are returned by number, and those that do not come are asked of JSON-RPC.
 * `next` throws ChainContradiction where the topic is of another chain than JSON-RPC.
 */
export class Blockgroups implements BlockSource {
  private readonly options: BlockgroupOptions;
  private readonly joiner = new SegmentJoiner();
  private readonly blocks = new Map<number, SourceBlock>();
  private readonly following: Following;
  /** The block that was asked for last. */
  private due: number | undefined;
  private missingSinceMs = 0;
  private newest: number | undefined;
  private oldest: number | undefined;
  private firstAtMs = 0;
  private lastAtMs: number;
  /** A block of the topic that JSON-RPC is to confirm: undefined where none is there, or one was confirmed. */
  private toVerify: SourceBlock | undefined;
  private isVerified = false;
  /** A comparison that is under way serves all that ask for one. */
  private verifying: Promise<void> | undefined;
  private wake: () => void = () => undefined;

  constructor(options: BlockgroupOptions) {
    this.options = options;
    const { log, topic, logger, nowMs } = options;
    this.lastAtMs = nowMs();
    this.following = log.followTopic({
      topic,
      // The topic may hold days. JSON-RPC gives the few earlier blocks that are missing.
      from: 'end',
      headerEncoding: 'latin1',
      onRecords: (partition, records) => this.read(partition, records),
      onFatal: (error) =>
        logger.error({ error, topic }, 'the blocks of the topic cannot be followed: JSON-RPC gives all'),
    });
  }

  async next(number: number): Promise<SourceBlock | undefined> {
    const { gaps, nowMs, onGap } = this.options;
    await this.verify();
    if (this.due !== number) {
      this.due = number;
      this.missingSinceMs = nowMs();
      for (const held of this.blocks.keys()) if (held < number) this.blocks.delete(held);
    }
    const block = this.blocks.get(number);
    if (block !== undefined) return block;
    if (!this.isOverdue(number)) return undefined;
    const filled = await gaps.next(number);
    if (filled !== undefined) onGap();
    return filled;
  }

  async waitForMore(): Promise<void> {
    const { gaps, wait, gapMsMax } = this.options;
    const news = new Promise<void>((resolve) => {
      this.wake = resolve;
    });
    await Promise.race([gaps.waitForMore(), wait(gapMsMax), news]);
  }

  headNumber(): number | undefined {
    const head = this.options.gaps.headNumber();
    return this.newest === undefined ? head : Math.max(this.newest, head ?? 0);
  }

  async stop(): Promise<void> {
    await this.following.stop();
    await this.options.gaps.stop();
  }

  private read(partition: number, records: readonly StoredRecord[]): void {
    const { topic, logger } = this.options;
    for (const { key, value, headers, offset } of records) {
      if (this.isPast(Number(key))) continue;
      const message = this.joiner.add({ partition, key, value, headers });
      if (message === undefined) continue;
      const block = Buffer.isBuffer(message) ? parseBlockgroup(message) : message;
      if ('unreadable' in block) {
        logger.warn({ topic, partition, offset: String(offset), reason: block.unreadable }, 'unreadable block');
      } else this.keep(block);
    }
  }

  private keep(block: SourceBlock): void {
    const { nowMs, blocksMax } = this.options;
    const { blocks, due } = this;
    const { number } = block.header;
    this.lastAtMs = nowMs();
    if (this.oldest === undefined) this.firstAtMs = this.lastAtMs;
    this.oldest = Math.min(this.oldest ?? number, number);
    this.newest = Math.max(this.newest ?? 0, number);
    if (!this.isVerified) this.toVerify = block;
    if ((due !== undefined && number < due) || blocks.has(number)) return;
    blocks.set(number, block);
    // Before the first question nobody knows which block is due, so the newest are kept; later those that are due first.
    if (blocks.size > blocksMax) {
      blocks.delete(due === undefined ? Math.min(...blocks.keys()) : Math.max(...blocks.keys()));
    }
    if (due === undefined || number === due) this.wake();
  }

  private isSilent(): boolean {
    return this.options.nowMs() - this.lastAtMs >= this.options.silenceMsMax;
  }

  /**
   * A block that is not needed any more. While JSON-RPC gives all blocks, one that it gave just now is read all the same: it
   * shows that the topic is there again. Much older ones, which a node publishes late, do not show that.
   */
  private isPast(number: number): boolean {
    return this.due !== undefined && number < (this.isSilent() ? this.due - RECENT_BLOCKS : this.due);
  }

  /** A topic of another network is known by one of its blocks: its numbers alone would keep the watcher waiting. */
  verify(): Promise<void> {
    this.verifying ??= this.compare().finally(() => {
      this.verifying = undefined;
    });
    return this.verifying;
  }

  private async compare(): Promise<void> {
    if (this.toVerify === undefined) return;
    const { gaps, topic } = this.options;
    const { number, hash } = this.toVerify.header;
    const same = await gaps.next(number);
    if (same === undefined) {
      const behind = number - (gaps.headNumber() ?? number);
      if (behind <= AHEAD_BLOCKS_MAX) return;
      throw new ChainContradiction(`${topic} is ${behind} blocks ahead of JSON-RPC: is it of another network?`);
    }
    if (same.header.hash !== hash) {
      throw new ChainContradiction(`block ${number} is ${hash} in ${topic}, but ${same.header.hash} by JSON-RPC`);
    }
    this.isVerified = true;
    this.toVerify = undefined;
  }

  /** True if the missing block need not be waited for any longer. */
  private isOverdue(number: number): boolean {
    const { nowMs, gapMsMax } = this.options;
    const { newest, oldest } = this;
    if (newest === undefined || oldest === undefined || newest < number) return this.isSilent();
    // Blocks from before the topic was followed will not come, except those out of order at the very start.
    return nowMs() - (number < oldest ? this.firstAtMs : this.missingSinceMs) >= gapMsMax;
  }
}

const RECENT_BLOCKS = 3;
/** A node that answers JSON-RPC may lag behind the one that writes the topic; some 15 minutes. */
const AHEAD_BLOCKS_MAX = 900;
