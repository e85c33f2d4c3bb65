import { RecordTooLarge } from '../failures.js';
import type { Appender, LogRecord, StoredRecord } from '../log.js';
import { partitionOf } from '../partition-of.js';
import type { UnreadableBatch } from './decode-batches.js';

const REASON_CHARACTERS_MAX = 1_000;

/**
 * Writes to the parked topic what can never be handled: same key, value and headers, and where it came from in
 * `parked-topic`, `parked-partition`, `parked-offset` and `parked-reason`. Resolves once Kafka holds it.
 */
export class Parking {
  readonly #appender: Pick<Appender, 'append'>;
  readonly #parkedTopic: string;
  readonly #partitionsOf: (topic: string) => Promise<number>;
  #partitions: number | undefined;

  constructor(
    appender: Pick<Appender, 'append'>,
    parkedTopic: string,
    partitionsOf: (topic: string) => Promise<number>,
  ) {
    this.#appender = appender;
    this.#parkedTopic = parkedTopic;
    this.#partitionsOf = partitionsOf;
  }

  parkRecord(record: StoredRecord, reason: string): Promise<void> {
    return this.#park(record, originOf(record, record.offset, reason));
  }

  /** A batch that cannot be decoded, as a whole: its bytes are the value, `parked-next-offset` is where it ends. */
  parkBatch(batch: UnreadableBatch): Promise<void> {
    const origin = originOf(batch, batch.baseOffset, batch.reason);
    const headers = { ...origin, 'parked-next-offset': String(batch.nextOffset) };
    return this.#park({ key: '', value: batch.bytes, headers: {} }, headers);
  }

  /**
   * What is too large with these headers is parked without its value (`parked-value-omitted`), and at last without its
   * key and its own headers too (`parked-headers-omitted`): nothing is too large to be set aside.
   */
  async #park(
    { key, value, headers }: Pick<LogRecord, 'key' | 'value' | 'headers'>,
    origin: Readonly<Record<string, string>>,
  ): Promise<void> {
    this.#partitions ??= await this.#partitionsOf(this.#parkedTopic);
    const omitted = { ...origin, 'parked-value-omitted': 'true' };
    const place = { topic: this.#parkedTopic, partition: partitionOf(key, this.#partitions) };
    const forms: readonly LogRecord[] = [
      { ...place, key, value, headers: { ...headers, ...origin } },
      { ...place, key, value: null, headers: { ...headers, ...omitted } },
      { ...place, key: '', value: null, headers: { ...omitted, 'parked-headers-omitted': 'true' } },
    ];
    let tooLarge: RecordTooLarge | undefined;
    for (const parked of forms) {
      try {
        await this.#appender.append([parked]);
        return;
      } catch (error) {
        if (!(error instanceof RecordTooLarge)) {
          throw error;
        }
        tooLarge = error;
      }
    }
    throw tooLarge;
  }
}

function originOf(
  { topic, partition }: { readonly topic: string; readonly partition: number },
  offset: bigint,
  reason: string,
): Record<string, string> {
  return {
    'parked-topic': topic,
    'parked-partition': String(partition),
    'parked-offset': String(offset),
    'parked-reason': reason.slice(0, REASON_CHARACTERS_MAX),
  };
}
