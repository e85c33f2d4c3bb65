import { ceType, decodeMakerEvent } from '@makerbook/contracts-events';
import { unlessAway } from '@makerbook/contracts-primitives';
import { type Refusal, refuseFields, unavailable } from '@makerbook/http';
import type { Log, TopicPartition } from '@makerbook/kafka';
import { logIsAway } from './answer-signed.js';

/** A moment in the log: behind a block, or behind the fact at an offset. */
export type Moment = { readonly block: number } | { readonly partition: number; readonly offset: bigint };

/** Parses a moment. @param text a block number, or `<partition>:<offset>` */
export function momentOf(text: string): Moment {
  const [first, offset] = text.split(':');
  return offset === undefined ? { block: Number(first) } : { partition: Number(first), offset: BigInt(offset) };
}

type MomentLog = Pick<Log, 'readRange'>;

const isAhead = unavailable('`at` is ahead of what is known here; try again');

/**
 * Finds the offset that ends the facts of a moment. Refuses a moment in another partition, or ahead of the rows.
 * @param end the offset that the rows have reached in the partition
 */
export async function findMoment(
  log: MomentLog,
  source: TopicPartition,
  at: Moment,
  end: bigint,
): Promise<bigint | Refusal> {
  const { partition } = source;
  if ('block' in at) {
    const found = await unlessAway(findBlock(log, source, at.block, end));
    return found === undefined ? logIsAway : (found.behind ?? isAhead);
  }
  if (at.partition !== partition)
    return refuseFields([{ path: ['at'], message: `must be in the maker's partition, ${partition}` }]);
  return at.offset < end ? at.offset + 1n : isAhead;
}

/** Finds the offset behind the newest record up to this block. Undefined if none before `end` has reached it. */
async function findBlock(
  log: MomentLog,
  source: TopicPartition,
  block: number,
  end: bigint,
): Promise<{ readonly behind: bigint | undefined }> {
  /** The beginning, or behind a record of the wanted block or an earlier one. */
  let low = 0n;
  /** From this offset on all blocks are later. */
  let high = end;
  let isReached = false;
  while (low < high) {
    const middle = (low + high) / 2n;
    const blocks = await readSomeBlocks(log, source, middle, high);
    const last = blocks.findLast(({ number }) => number <= block);
    isReached ||= blocks.some(({ number }) => number >= block);
    if (last === undefined) high = middle;
    else if (last === blocks.at(-1)) low = last.offset + 1n;
    else return { behind: last.offset + 1n };
  }
  return { behind: isReached ? low : undefined };
}

/** Reads the first blocks of a range: those of the first batch that has any. */
async function readSomeBlocks(log: MomentLog, source: TopicPartition, from: bigint, to: bigint) {
  for await (const { records } of log.readRange(source, from, to)) {
    const blocks = records.flatMap((record) => {
      if (record.headers['ce_type'] !== ceType('BlockProcessed')) return [];
      const fact = decodeMakerEvent(record);
      return 'block' in fact ? [{ number: fact.block.number, offset: record.offset }] : [];
    });
    if (blocks.length > 0) return blocks;
  }
  return [];
}
