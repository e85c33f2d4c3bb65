import { RecordTooLarge } from '../failures.js';
import type { Appender, LogRecord, StoredRecord } from '../log.js';

const REASON_CHARACTERS_MAX = 1_000;

/** Resolves once Kafka holds the record in the parked topic. */
export type Park = (record: StoredRecord, reason: string) => Promise<void>;

/**
 * Writes records that can never be handled to the parked topic: same partition, key, value and headers, with their
 * origin in `parked-topic`, `parked-partition`, `parked-offset` and `parked-reason`. A record that is too large with
 * these headers is parked without its value (`parked-value-omitted`). If it is still too large, its key and its own
 * headers go too (`parked-headers-omitted`). So every record can be parked.
 */
export function parkIn(parkedTopic: string, appender: Pick<Appender, 'append'>): Park {
  return async ({ topic, partition, offset, key, value, headers }, reason) => {
    const origin = {
      'parked-topic': topic,
      'parked-partition': String(partition),
      'parked-offset': String(offset),
      'parked-reason': reason.slice(0, REASON_CHARACTERS_MAX),
    };
    const omitted = { ...origin, 'parked-value-omitted': 'true' };
    const place = { topic: parkedTopic, partition };
    const forms: readonly LogRecord[] = [
      { ...place, key, value, headers: { ...headers, ...origin } },
      { ...place, key, value: null, headers: { ...headers, ...omitted } },
      { ...place, key: '', value: null, headers: { ...omitted, 'parked-headers-omitted': 'true' } },
    ];
    for (const [index, form] of forms.entries()) {
      try {
        await appender.append([form]);
        return;
      } catch (error) {
        if (!(error instanceof RecordTooLarge) || index === forms.length - 1) throw error;
      }
    }
  };
}
