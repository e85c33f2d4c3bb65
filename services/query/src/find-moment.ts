import { ceType, decodeMakerEvent } from '@makerbook/contracts-events';
import { unlessAway } from '@makerbook/contracts-primitives';
import { type Refusal, refuseFields, unavailable } from '@makerbook/http';
import type { Log, TopicPartition } from '@makerbook/kafka';
import { logIsAway } from './answer-signed.js';

/** Behind a block, or behind the fact at a place of the log. */
export type Moment = { readonly block: number } | { readonly partition: number; readonly offset: bigint };

/** @param text a block, or `<partition>:<offset>` */
export function momentOf(text: string): Moment {
  const [first, offset] = text.split(':');
  return offset === undefined ? { block: Number(first) } : { partition: Number(first), offset: BigInt(offset) };
}

type MomentLog = Pick<Log, 'readRange'>;

const isAhead = unavailable('`at` is ahead of what is known here; try again');

/**
 * The offset before which the facts are that count at the moment. Refuses one of another partition, and one that is
 * ahead.
 * @param end how far the rows have come in the partition
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

/** The offset behind the newest record of a block up to this one; undefined where none before `end` has reached it. */
async function findBlock(
  log: MomentLog,
  source: TopicPartition,
  block: number,
  end: bigint,
): Promise<{ readonly behind: bigint | undefined }> {
  /** Behind a record of a block up to the wanted one, or the beginning. */
  let low = 0n;
  /** From here on all blocks are later. */
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

/** The first blocks of a range, as many as come together. */
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
