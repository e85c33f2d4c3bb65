import { decodeMakerEvent, type MakerEvent, type OrderBody } from '@makerbook/contracts-events';
import type { FactCause, OrderReport, TimelineEntry } from '@makerbook/contracts-http';
import { quantity, unlessAway } from '@makerbook/contracts-primitives';
import type { Log } from '@makerbook/kafka';
import type { HistoryEntry, OrderChange } from './store/read-histories.js';

type FillEntry = Extract<HistoryEntry, { happened: 'FILLED' }>;

/** A fact, and the time when it was written to the log. */
export interface LoggedFact {
  readonly fact: MakerEvent;
  readonly loggedAtMs: number;
}

export type FactsByOffset = ReadonlyMap<bigint, LoggedFact>;

/** Reads the facts that led to entries. Undefined if the log does not answer, or lacks one of them. */
export async function readFacts(
  log: Pick<Log, 'readRecords'>,
  from: { readonly topic: string; readonly partition: number },
  entries: readonly HistoryEntry[],
): Promise<FactsByOffset | undefined> {
  const offsets = [...new Set(entries.map(({ logOffset }) => logOffset))];
  const records = await unlessAway(log.readRecords(from, offsets));
  if (records === undefined) return undefined;
  const facts = new Map<bigint, LoggedFact>();
  for (const [offset, record] of records) {
    const fact = decodeMakerEvent(record);
    if (!('unreadable' in fact)) facts.set(offset, { fact, loggedAtMs: record.timestampMs });
  }
  return facts.size === offsets.length ? facts : undefined;
}

/** Describes an entry by its fact. @param order the entry's order, if known: a fill may not name its tokens */
export function describeEntry(entry: HistoryEntry, facts: FactsByOffset, order?: OrderBody): TimelineEntry {
  const { fact, loggedAtMs } = factOf(entry, facts);
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
  const { fill, block } = fillOf(entry, facts);
  const { taker, makingAmount, takingAmount, remaining, blockNumber, transactionHash, logIndex } = fill;
  const makingToken = fill.makingToken ?? order?.making.token;
  const takingToken = fill.takingToken ?? order?.taking.token;
  const blockTimestamp = fill.timestamp ?? (block.number === blockNumber ? block.timestamp : undefined);
  return {
    ...at,
    happened: entry.happened,
    ...(makingToken && { makingToken }),
    makingAmount,
    ...(takingToken && { takingToken }),
    takingAmount,
    ...(remaining && { remainingMakingAmount: remaining }),
    taker,
    blockNumber,
    ...(blockTimestamp !== undefined && { blockTimestamp }),
    transactionHash,
    logIndex,
  };
}

/** Finds a fill in the log's fact about it, with the block of that fact. */
export function fillOf({ partition, logOffset, blockNumber, logIndex }: FillEntry, facts: FactsByOffset) {
  const { fact } = factOf({ partition, logOffset }, facts);
  const observed = fact.type === 'MakerObserved' ? fact : undefined;
  const fill = observed?.fills?.find((each) => each.blockNumber === blockNumber && each.logIndex === logIndex);
  if (observed === undefined || fill === undefined)
    throw new Error(`the fact at ${partition}:${logOffset} does not tell of the fill ${blockNumber}:${logIndex}`);
  return { fill, block: observed.block };
}

function factOf({ partition, logOffset }: Pick<HistoryEntry, 'partition' | 'logOffset'>, facts: FactsByOffset) {
  const logged = facts.get(logOffset);
  if (logged === undefined) throw new Error(`the fact at ${partition}:${logOffset} was not read`);
  return logged;
}

/** The status of an order after a change, or how it ended. */
export function statusOf({
  happened,
  status,
  reason,
  cappedUntil,
}: OrderChange): Pick<OrderReport, 'status' | 'reason' | 'waitsFor' | 'cappedUntil'> {
  // A check in Postgres allows only these reasons for REMOVED.
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
