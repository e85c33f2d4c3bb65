import type { MakerEvent } from '@makerbook/contracts-events';
import type { FactCause, OrderReport, TimelineEntry } from '@makerbook/contracts-http';
import { quantity } from '@makerbook/contracts-primitives';
import type { HistoryEntry, OrderChange } from '@makerbook/postgres';

/** A fact, and when it was written to the log. */
export interface LoggedFact {
  readonly fact: MakerEvent;
  readonly loggedAtMs: number;
}

/** Describes an entry by its fact. @param facts by offset, as `readFacts` reads them */
export function describeEntry(entry: HistoryEntry, facts: ReadonlyMap<bigint, LoggedFact>): TimelineEntry {
  const logged = facts.get(entry.logOffset);
  if (logged === undefined) throw new Error(`the fact at ${entry.partition}:${entry.logOffset} was not read`);
  const { fact, loggedAtMs } = logged;
  const at = { position: `${entry.partition}:${entry.logOffset}`, loggedAtMs };
  if (entry.happened !== 'FILLED') {
    const { happened } = entry;
    const funds = fact.type === 'MakerObserved' ? fact.funds.filter(({ unread }) => !unread) : [];
    return {
      ...at,
      happened,
      ...statusOf(entry),
      remainingMakingAmount: quantity(entry.remaining),
      ...(funds.length > 0 && { funds }),
      cause: causeOf(fact),
    };
  }
  const { happened, blockNumber, logIndex } = entry;
  const fills = fact.type === 'MakerObserved' ? fact.fills : undefined;
  const fill = fills?.find((each) => each.blockNumber === blockNumber && each.logIndex === logIndex);
  if (fill === undefined)
    throw new Error(`the fact at ${at.position} does not tell of the fill ${blockNumber}:${logIndex}`);
  const { taker, makingAmount, takingAmount, transactionHash } = fill;
  return { ...at, happened, makingAmount, takingAmount, taker, blockNumber, transactionHash, logIndex };
}

/** The status of an order after a change, or how it ended. */
export function statusOf({
  happened,
  status,
  reason,
  cappedUntil,
}: OrderChange): Pick<OrderReport, 'status' | 'reason' | 'waitsFor' | 'cappedUntil'> {
  // Postgres holds a reason to what it is the reason of.
  if (happened === 'REMOVED') return { status: reason as OrderReport['status'] };
  const capped = cappedUntil === 0 ? {} : { cappedUntil };
  if (status === 'VALIDATING' && reason !== null) {
    return { status, waitsFor: reason as NonNullable<OrderReport['waitsFor']>, ...capped };
  }
  if (status !== 'INACTIVE') return { status, ...capped };
  return { status, reason: reason as NonNullable<OrderReport['reason']>, ...capped };
}

function causeOf(fact: MakerEvent): FactCause {
  if (fact.type === 'BlockProcessed') return { kind: 'block', block: fact.block };
  if (!('cause' in fact)) throw new Error(`a ${fact.type} does nothing to an order`);
  const { cause } = fact;
  if (cause.kind === 'request') return cause;
  if (fact.type !== 'MakerObserved' || cause.kind === 'operator') return { kind: 'operator' };
  return { ...cause, block: fact.block };
}
