import { createHash } from 'node:crypto';
import type { Log, StoredRecord, TopicPartition } from '../log.js';

/** What tells a partition of a log from that of another log. */
export interface LogName {
  /** 8 hex digits. */
  readonly name: string;
  /** The offset of the record that it was taken from. */
  readonly firstOffset: bigint;
}

/** The header of the first record of a restored partition: what tells it from the log that was lost. */
export const RESTORED_HEADER = 'restored';

/**
 * Names a partition of a log by its first record and the time of that. So each log has a name, also one of before there
 * were names. A restored log has another name: it may lack what the one before had told.
 * @param to not behind the end of the log
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

/** The name of the partition whose first record it is. */
export function nameAfter({ timestampMs, key, headers, value }: StoredRecord): string {
  const restored = headers[RESTORED_HEADER];
  const told = JSON.stringify([timestampMs, key, headers['ce_id'], String(value), ...(restored ? [restored] : [])]);
  return createHash('sha256').update(told).digest('hex').slice(0, 8);
}
