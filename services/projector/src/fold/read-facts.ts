import { decodeMakerEvent, isTooLate, type MakerEvent, misplacement } from '@makerbook/contracts-events';
import { PoisonRecord, partitionOf, type StoredRecord } from '@makerbook/kafka';

/** A fact of the log, with what the fold and the feeds need of its record. */
export interface LoggedFact {
  readonly fact: MakerEvent;
  readonly offset: bigint;
  /** When the fact happened, in milliseconds since 1970; for a chain fact, the block's time. */
  readonly timeMs: number;
  /** True if the fact came too late: it changes nothing. */
  readonly isTooLate: boolean;
  /** The record as it was read, in case it must be parked. */
  readonly record: StoredRecord;
}

/**
 * Reads a record of `limit-orders.maker-events.v1`.
 * @param partitions the number of the topic's partitions
 * @throws PoisonRecord if the record can never be read, with the reason for the person who looks at the parked record
 */
export function readFact(record: StoredRecord, partitions: number): LoggedFact {
  const fact = decodeMakerEvent(record);
  if ('unreadable' in fact) throw new PoisonRecord(fact.unreadable);
  const misplaced = misplacement(fact, record.partition, (maker) => partitionOf(maker, partitions));
  if (misplaced !== undefined) throw new PoisonRecord(misplaced);
  return { fact, offset: record.offset, timeMs: timeOf(record), isTooLate: isTooLate(record), record };
}

/** When the fact of a record happened, in milliseconds since 1970. */
export function timeOf({ headers, timestampMs }: StoredRecord): number {
  const time = Date.parse(headers['ce_time'] ?? '');
  return Number.isNaN(time) ? timestampMs : time;
}

/** Reads the records, and leaves out those that cannot be read. */
export function readFacts(records: readonly StoredRecord[], partitions: number): LoggedFact[] {
  return records.flatMap((record) => {
    try {
      return [readFact(record, partitions)];
    } catch (error) {
      if (error instanceof PoisonRecord) return [];
      throw error;
    }
  });
}
