import { RecordTooLarge } from './failures.js';
import type { Appender, LogRecord, StoredRecord } from './log.js';
import { partitionOf } from './partition-of.js';

const REASON_CHARACTERS_MAX = 1_000;

/**
 * Writes records that can never be handled to the parked topic: same key, value and headers, and where each came from
 * in `parked-topic`, `parked-partition`, `parked-offset` and `parked-reason`. Resolves once Kafka holds the record.
 * One that is too large with these headers is parked without its value (`parked-value-omitted`), and at last without
 * its key and its own headers too (`parked-headers-omitted`): no record is too large to be set aside.
 */
export function openParking(
  appender: Pick<Appender, 'append'>,
  parkedTopic: string,
  partitionsOf: (topic: string) => Promise<number>,
): (record: StoredRecord, reason: string) => Promise<void> {
  let partitions: number | undefined;
  return async (record, reason) => {
    partitions ??= await partitionsOf(parkedTopic);
    const origin = {
      'parked-topic': record.topic,
      'parked-partition': String(record.partition),
      'parked-offset': String(record.offset),
      'parked-reason': reason.slice(0, REASON_CHARACTERS_MAX),
    };
    const omitted = { ...origin, 'parked-value-omitted': 'true' };
    const place = { topic: parkedTopic, partition: partitionOf(record.key, partitions) };
    const forms: readonly LogRecord[] = [
      { ...place, key: record.key, value: record.value, headers: { ...record.headers, ...origin } },
      { ...place, key: record.key, value: null, headers: { ...record.headers, ...omitted } },
      { ...place, key: '', value: null, headers: { ...omitted, 'parked-headers-omitted': 'true' } },
    ];
    let tooLarge: RecordTooLarge | undefined;
    for (const parked of forms) {
      try {
        await appender.append([parked]);
        return;
      } catch (error) {
        if (!(error instanceof RecordTooLarge)) {
          throw error;
        }
        tooLarge = error;
      }
    }
    throw tooLarge;
  };
}
