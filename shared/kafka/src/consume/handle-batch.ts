import { pause } from '../cluster/deadline.js';
import { FatalError, LogUnavailable, PoisonRecord, RetryableError } from '../failures.js';
import type { BatchContext, ConsumeOptions, Logger, StoredRecord, UnreadableBatch } from '../log.js';
import type { RecordRange } from './fetch-partitions.js';
import type { Parking } from './park-records.js';

const UNEXPECTED_ERRORS_MAX = 5;
const RETRY_DELAY_MS = 100;
const RETRY_DELAY_MS_MAX = 5_000;

/** A partition that this member owns, from its assignment to its revocation. */
export interface OwnedPartition {
  readonly partition: number;
  /** Undefined until the store has answered. */
  position: bigint | undefined;
  /** Revoked: what is under way may end, but is not tried again. */
  readonly revoked: AbortController;
  /** Taken away: what is under way must not commit. */
  isStale: boolean;
}

/** The waits between attempts: doubling, up to a bound; an abort ends the wait. */
export class Backoff {
  readonly #delayMsMax: number;
  delayMs: number;

  constructor({ retryDelayMs = RETRY_DELAY_MS, retryDelayMsMax = RETRY_DELAY_MS_MAX }: RetryDelays) {
    this.delayMs = retryDelayMs;
    this.#delayMsMax = retryDelayMsMax;
  }

  async wait(signal: AbortSignal): Promise<void> {
    await pause(this.delayMs, signal);
    this.delayMs = Math.min(this.delayMs * 2, this.#delayMsMax);
  }
}

type RetryDelays = Pick<ConsumeOptions, 'retryDelayMs' | 'retryDelayMsMax'>;

/**
 * Hands one range of records to the handler until it is done with, and decides what each failure means: retry (the
 * partition waits, nothing is skipped), park (the record or the unreadable batch alone is set aside), or stop (throws
 * FatalError).
 */
export class BatchHandling<T> {
  readonly #owned: OwnedPartition;
  readonly #range: RecordRange;
  readonly #options: ConsumeOptions<T>;
  readonly #parts: { readonly logger: Logger; readonly parking: Parking; readonly retrying: Map<number, string> };
  /** Offsets of records that are parked here and left out of the batch. */
  readonly #parked = new Set<bigint>();
  #isBatchParked = false;
  #unexpectedErrors = 0;

  constructor(
    owned: OwnedPartition,
    range: RecordRange,
    options: ConsumeOptions<T>,
    parts: { readonly logger: Logger; readonly parking: Parking; readonly retrying: Map<number, string> },
  ) {
    this.#owned = owned;
    this.#range = range;
    this.#options = options;
    this.#parts = parts;
  }

  /** False when the partition was revoked first; its next owner begins at the store's position. */
  async run(): Promise<boolean> {
    const { partition, revoked } = this.#owned;
    const { logger, retrying } = this.#parts;
    const { fromOffset } = this.#range;
    const backoff = new Backoff(this.#options);
    for (;;) {
      const failure = await this.#attempt();
      if (failure === undefined) {
        retrying.delete(partition);
        return !this.#owned.isStale;
      }
      const reason = this.#judge(failure.error);
      if (revoked.signal.aborted) {
        return false;
      }
      retrying.set(partition, reason);
      const { topic } = this.#options;
      logger.warn({ topic, partition, fromOffset, reason, delayMs: backoff.delayMs }, 'a batch waits to be retried');
      await backoff.wait(revoked.signal);
      if (revoked.signal.aborted) {
        return false;
      }
    }
  }

  /** What went wrong, if anything. A record that the handler names as poison is parked, and the rest tried again. */
  async #attempt(): Promise<{ error: unknown } | undefined> {
    for (;;) {
      try {
        await this.#handle();
        return undefined;
      } catch (error) {
        const poison = this.#poisoned(error);
        if (poison === undefined) {
          return { error };
        }
        try {
          await this.#park(poison, (error as Error).message);
          this.#parked.add(poison.offset);
        } catch (parkingError) {
          return { error: parkingError };
        }
      }
    }
  }

  async #handle(): Promise<void> {
    const { partition } = this.#owned;
    const { fromOffset, nextOffset, unreadable } = this.#range;
    if (unreadable !== undefined && !this.#isBatchParked) {
      await this.#parkBatch(unreadable);
    }
    const records: T[] = [];
    for (const record of this.#range.records) {
      if (!this.#parked.has(record.offset)) {
        await this.#decodeInto(records, record);
      }
    }
    const context: BatchContext = {
      heartbeat: () => {
        if (this.#owned.isStale) {
          throw new RetryableError(`${this.#options.topic}/${partition} was given to another member`);
        }
      },
      isStale: () => this.#owned.isStale,
      park: (record, reason) => this.#park(record, reason),
    };
    await this.#options.handleBatch({ partition, records, fromOffset, nextOffset }, context);
  }

  async #decodeInto(records: T[], record: StoredRecord): Promise<void> {
    const { decode } = this.#options;
    try {
      records.push(decode === undefined ? (record as T) : decode(record));
    } catch (error) {
      if (!(error instanceof PoisonRecord)) {
        throw error;
      }
      await this.#park(record, error.message);
      this.#parked.add(record.offset);
    }
  }

  async #park(record: StoredRecord, reason: string): Promise<void> {
    const { topic, partition, offset } = record;
    await this.#parts.parking.parkRecord(record, reason);
    this.#parts.logger.error({ topic, partition, offset, reason }, 'a record was parked');
    this.#options.onParked?.(record, reason);
  }

  async #parkBatch(batch: UnreadableBatch): Promise<void> {
    const { topic, partition, baseOffset, nextOffset, reason, bytes } = batch;
    await this.#parts.parking.parkBatch(batch);
    this.#isBatchParked = true;
    this.#parts.logger.error({ topic, partition, baseOffset, nextOffset, reason }, 'an unreadable batch was parked');
    const place = { topic, partition, offset: baseOffset };
    this.#options.onParked?.({ ...place, timestampMs: 0, key: '', value: bytes, headers: {} }, reason);
  }

  /** The record that a handler named as poison, if it is one of this range that is not parked yet. */
  #poisoned(failure: unknown): StoredRecord | undefined {
    if (!(failure instanceof PoisonRecord) || failure.offset === undefined || this.#parked.has(failure.offset)) {
      return undefined;
    }
    return this.#range.records.find(({ offset }) => offset === failure.offset);
  }

  /** The reason to try again, or throws FatalError. */
  #judge(failure: unknown): string {
    if (failure instanceof FatalError) {
      throw failure;
    }
    const reason = failure instanceof Error ? failure.message : String(failure);
    if (!(failure instanceof RetryableError || failure instanceof LogUnavailable)) {
      this.#unexpectedErrors += 1;
      if (this.#unexpectedErrors > (this.#options.unexpectedErrorsMax ?? UNEXPECTED_ERRORS_MAX)) {
        const what = `${this.#options.topic}/${this.#owned.partition} from ${this.#range.fromOffset}`;
        throw new FatalError(`handling ${what} failed ${this.#unexpectedErrors} times in a row: ${reason}`, {
          cause: failure,
        });
      }
    }
    return reason;
  }
}
