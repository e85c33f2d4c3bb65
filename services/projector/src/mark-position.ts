import { encodeResumeRecord, type TopicNames } from '@makerbook/contracts-events';
import type { LogRecord } from '@makerbook/kafka';
import { messageId } from './name-messages.js';
import type { LoggedFact } from './read-facts.js';

/**
 * Up to where the feeds of one partition are complete, also where nothing changed for long: who starts from the book
 * goes on in the log from there. It hangs on the projector's clock, so it is no part of what a replay gives again.
 */
export interface PositionMark {
  /** Where the newest block stands, and the one before it; undefined until they were folded by this owner. */
  newestBlock: MarkedBlock | undefined;
  blockBefore: MarkedBlock | undefined;
  newestNumber: number;
  /** What was marked last, and when. */
  marked: MarkedBlock | undefined;
  markedAtMs: number;
}

interface MarkedBlock {
  readonly offset: bigint;
  readonly timestamp: number;
}

/** @param blockNumber the newest block that was folded before, if any */
export function createPositionMark(blockNumber: number | undefined): PositionMark {
  return {
    newestBlock: undefined,
    blockBefore: undefined,
    newestNumber: blockNumber ?? -1,
    marked: undefined,
    markedAtMs: Number.NEGATIVE_INFINITY,
  };
}

/** Takes note of blocks that were folded. A late repeat of an older block says nothing new. */
export function noteBlocks(mark: PositionMark, facts: readonly LoggedFact[]): void {
  for (const { fact, offset } of facts) {
    if (fact.type !== 'BlockProcessed' || fact.block.number <= mark.newestNumber) continue;
    mark.newestNumber = fact.block.number;
    mark.blockBefore = mark.newestBlock;
    mark.newestBlock = { offset, timestamp: fact.block.timestamp };
  }
}

/**
 * The record to publish once everything before it is published; undefined where there is nothing new to say yet.
 * It names the block before the newest: who goes on from there reads two blocks, and so knows where the watcher stood
 * and which orders it may not have read.
 */
export function duePosition(
  { blockBefore, marked, markedAtMs }: PositionMark,
  at: {
    readonly partition: number;
    readonly nowMs: number;
    readonly intervalMs: number;
    readonly topic: TopicNames['resume'];
  },
): LogRecord | undefined {
  if (blockBefore === undefined || blockBefore === marked || at.nowMs - markedAtMs < at.intervalMs) return undefined;
  const { partition, topic } = at;
  const position = { partition, offset: String(blockBefore.offset) };
  const { key, value, headers } = encodeResumeRecord(
    { type: 'BookPosition', position },
    {
      id: messageId(partition, blockBefore.offset, 'position'),
      source: '/makerbook/projector',
      timeMs: blockBefore.timestamp * 1000,
    },
  );
  return { topic, partition, key: key ?? '', value, headers };
}
