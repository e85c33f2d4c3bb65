import { createHash } from 'node:crypto';
import type { Log, StoredRecord, TopicPartition } from '../log.js';

/** Tells a partition of a log from the same partition of another log. */
export interface LogName {
  /** 8 hex digits. */
  readonly name: string;
  /** The offset of the record that the name was taken from. */
  readonly firstOffset: bigint;
}

/** A header of the first record of a restored partition. It tells the log from the one that was lost. */
export const RESTORED_HEADER = 'restored';

/**
 * Names a partition of a log by its first record and that record's time. So every log has a name, even one from before
 * names existed. A restored log gets another name, because it may lack records that the lost log had.
 * @param to not beyond the end of the log
 * @returns undefined if there is no record before `to`
 * @throws LogUnavailable
 */
export async function nameLog(
  log: Pick<Log, 'readRange'>,
  place: TopicPartition,
  to: bigint,
): Promise<LogName | undefined> {
  for await (const { records } of log.readRange(place, 0n, to)) {
    const [first] = records;
    if (first !== undefined) return { name: nameAfter(first), firstOffset: first.offset };
  }
  return undefined;
}

/** The name of the partition that begins with this record. */
export function nameAfter({ timestampMs, key, headers, value }: StoredRecord): string {
  const restored = headers[RESTORED_HEADER];
  const told = JSON.stringify([timestampMs, key, headers['ce_id'], String(value), ...(restored ? [restored] : [])]);
  return createHash('sha256').update(told).digest('hex').slice(0, 8);
}
