import { RecordTooLarge } from '../failures.js';
import type { Appender, LogRecord, StoredRecord } from '../log.js';
import { partitionOf } from '../partition-of.js';

const REASON_CHARACTERS_MAX = 1_000;

/** Resolves once Kafka holds the record in the parked topic. */
export type Park = (record: StoredRecord, reason: string) => Promise<void>;

/**
 * Writes to the parked topic what can never be handled: same key, value and headers, and where it came from in
 * `parked-topic`, `parked-partition`, `parked-offset` and `parked-reason`. What is too large with these headers is parked
 * without its value (`parked-value-omitted`), and at last without its key and its own headers too
 * (`parked-headers-omitted`): nothing is too large to be set aside.
 */
export function parkIn(
  parkedTopic: string,
  appender: Pick<Appender, 'append'>,
  partitionsOf: (topic: string) => Promise<number>,
): Park {
  let partitions: number | undefined;
  return async ({ topic, partition, offset, key, value, headers }, reason) => {
    partitions ??= await partitionsOf(parkedTopic);
    const origin = {
      'parked-topic': topic,
      'parked-partition': String(partition),
      'parked-offset': String(offset),
      'parked-reason': reason.slice(0, REASON_CHARACTERS_MAX),
    };
    const omitted = { ...origin, 'parked-value-omitted': 'true' };
    const place = { topic: parkedTopic, partition: partitionOf(key, partitions) };
    const forms: readonly LogRecord[] = [
      { ...place, key, value, headers: { ...headers, ...origin } },
      { ...place, key, value: null, headers: { ...headers, ...omitted } },
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
