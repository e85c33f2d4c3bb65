import type { BlockProcessed } from '@makerbook/contracts-events';

/** The clock of a partition of the log. Facts are judged by it. */
export interface LogClock {
  /** The newest processed block; -1 before the first. */
  readonly block: number;
  /** The greatest timestamp of a processed block, in seconds; 0 before the first. */
  readonly seconds: number;
}

/** The clock of an empty partition. */
export const startOfLog: LogClock = { block: -1, seconds: 0 };

/** The clock after a block. A block that is not newer than the last one changes nothing. */
export function advanceLog(clock: LogClock, { block }: BlockProcessed): LogClock {
  if (block.number <= clock.block) return clock;
  return { block: block.number, seconds: Math.max(clock.seconds, block.timestamp) };
}
