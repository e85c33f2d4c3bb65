import { decodeMakerEvent, isTooLate, type MakerEvent, misplacement } from '@makerbook/contracts-events';
import { PoisonRecord, partitionOf, type StoredRecord } from '@makerbook/kafka';

/** A fact of the log with what its consequences carry on from its message. */
export interface LoggedFact {
  readonly fact: MakerEvent;
  readonly offset: bigint;
  /** When the fact happened, in milliseconds since 1970; of a chain fact the block's time. */
  readonly timeMs: number;
  /** It came too late, and changes nothing. */
  readonly isTooLate: boolean;
  /** The record as it was read, to be parked where it comes to that. */
  readonly record: StoredRecord;
}

/**
 * Reads a record of `limit-orders.maker-events.v1`.
 * @param partitions how many the topic has
 * @throws PoisonRecord when it can never be understood, with the reason for the person who looks at the parked record
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

/** Reads the records that can be read. */
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
