import type { ClockEvent } from '@makerbook/contracts-events';

/** How far a partition of the log has come: the clock by which its facts are judged. */
export interface LogClock {
  /** The highest term that was started; 0 before the first. */
  readonly term: number;
  /** The newest processed block; -1 before the first. */
  readonly block: number;
  /** The greatest timestamp of a processed block, in seconds; 0 before the first. */
  readonly seconds: number;
}

/** The clock of an empty partition. */
export const startOfLog: LogClock = { term: 0, block: -1, seconds: 0 };

/**
 * The clock after a fact about the whole partition. One of a lower term changes nothing, and neither does a block that is
 * not newer than the last one.
 */
export function advanceLog(clock: LogClock, fact: ClockEvent): LogClock {
  if (isSuperseded(clock, fact)) return clock;
  const { term } = fact;
  if (fact.type !== 'BlockProcessed') return term === clock.term ? clock : { ...clock, term };
  if (fact.block.number <= clock.block) return term === clock.term ? clock : { ...clock, term };
  return { term, block: fact.block.number, seconds: Math.max(clock.seconds, fact.block.timestamp) };
}

/** Whether a watcher with a higher term has taken over since: then the fact does not count. */
export function isSuperseded(clock: Pick<LogClock, 'term'>, fact: { readonly term: number }): boolean {
  return fact.term < clock.term;
}
