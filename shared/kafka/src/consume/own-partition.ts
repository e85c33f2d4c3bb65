import { pause } from '../cluster/deadline.js';
import { FatalError, LogUnavailable, PoisonRecord, RetryableError } from '../failures.js';
import type { BatchContext, ConsumeOptions, Logger, StoredRecord } from '../log.js';
import type { UnreadableBatch } from './decode-batches.js';
import type { RecordRange } from './fetch-partitions.js';
import type { Parking } from './park-records.js';

const UNEXPECTED_ERRORS_MAX = 5;
const RETRY_DELAY_MS = 100;
const RETRY_DELAY_MS_MAX = 5_000;

export interface OwnedPartitionParts {
  readonly logger: Logger;
  readonly parking: Parking;
  /** Whether the group's coordinator has said lately that the partition is this member's. */
  readonly isConfirmed: () => boolean;
}

/**
 * A partition that this member owns, from its assignment to its revocation. It decides what each failure means: retry
 * (the partition waits, nothing is skipped), park (the record or the unreadable batch alone is set aside), or stop
 * (throws FatalError).
 */
export class OwnedPartition<T> {
  readonly partition: number;
  /** Undefined until the store has answered. */
  position: bigint | undefined;
  /** Why it waits, if it does. */
  retrying: string | undefined = 'its position is not known yet';
  readonly #options: ConsumeOptions<T>;
  readonly #parts: OwnedPartitionParts;
  readonly #revoked = new AbortController();
  #isStale = false;

  constructor(partition: number, options: ConsumeOptions<T>, parts: OwnedPartitionParts) {
    this.partition = partition;
    this.#options = options;
    this.#parts = parts;
  }

  /** What is under way may end, but is not tried again. `isLost`: it may belong to another already, and must not commit. */
  revoke(isLost: boolean): void {
    this.#isStale ||= isLost;
    this.#revoked.abort();
  }

  get isRevoked(): boolean {
    return this.#revoked.signal.aborted;
  }

  /** Asks the store where to go on. */
  async seek(): Promise<void> {
    const { topic, positionOf } = this.#options;
    await this.#insist(async () => {
      const position = await positionOf(this.partition);
      if (position < 0n) {
        throw new FatalError(`the store's position of ${topic}/${this.partition} is ${position}`);
      }
      this.position = position;
    });
  }

  /** Hands the records over, and moves the position. Where the partition is revoked first, its next owner does. */
  async handle({ records, fromOffset, nextOffset, unreadable }: RecordRange): Promise<void> {
    const { partition } = this;
    if (this.position !== fromOffset) {
      throw new FatalError(
        `${this.#options.topic}/${partition} was read from ${fromOffset}, not from ${this.position}`,
      );
    }
    if (unreadable !== undefined && !(await this.#insist(() => this.#parkBatch(unreadable)))) {
      return;
    }
    const readable: T[] = [];
    for (const record of records) {
      const decoded = this.#decode(record);
      if (!(decoded instanceof PoisonRecord)) {
        readable.push(decoded);
      } else if (!(await this.#insist(() => this.#park(record, decoded.message)))) {
        return;
      }
    }
    const batch = { partition, records: readable, fromOffset, nextOffset };
    const isHandled = await this.#insist(() => this.#options.handleBatch(batch, this.#context));
    if (isHandled && !this.#isStale) {
      this.position = nextOffset;
    }
  }

  /**
   * Does the work, again and again while it fails retryably. False when the partition was revoked first. Throws
   * FatalError, also where an error that nobody expects does not go away.
   */
  async #insist(work: () => Promise<void>): Promise<boolean> {
    const { topic } = this.#options;
    const { partition, position } = this;
    let unexpected = 0;
    for (let delayMs = RETRY_DELAY_MS; !this.isRevoked; delayMs = Math.min(delayMs * 2, RETRY_DELAY_MS_MAX)) {
      try {
        await work();
        this.retrying = undefined;
        return true;
      } catch (error) {
        if (error instanceof FatalError) {
          throw error;
        }
        if (this.isRevoked) {
          return false;
        }
        const reason = error instanceof Error ? error.message : String(error);
        unexpected += error instanceof RetryableError || error instanceof LogUnavailable ? 0 : 1;
        if (unexpected > UNEXPECTED_ERRORS_MAX) {
          const what = `${topic}/${partition} from ${position ?? 'the position of the store'}`;
          throw new FatalError(`handling ${what} failed ${unexpected} times: ${reason}`, { cause: error });
        }
        this.retrying = reason;
        this.#parts.logger.warn({ topic, partition, position, reason, delayMs }, 'a partition waits to be retried');
      }
      // What failed may have been taken over, and is not taken back before the group's coordinator agrees.
      do await pause(delayMs, this.#revoked.signal);
      while (!this.isRevoked && !this.#parts.isConfirmed());
    }
    return false;
  }

  readonly #context: BatchContext = {
    heartbeat: () => {
      if (this.#isStale) {
        throw new RetryableError(`${this.#options.topic}/${this.partition} was given to another member`);
      }
    },
    park: (record, reason) => this.#park(record, reason),
  };

  #decode(record: StoredRecord): T | PoisonRecord {
    try {
      return this.#options.decode(record);
    } catch (error) {
      if (error instanceof PoisonRecord) {
        return error;
      }
      throw error;
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
    this.#parts.logger.error({ topic, partition, baseOffset, nextOffset, reason }, 'an unreadable batch was parked');
    const place = { topic, partition, offset: baseOffset };
    this.#options.onParked?.({ ...place, timestampMs: 0, key: '', value: bytes, headers: {} }, reason);
  }
}
