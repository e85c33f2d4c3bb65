import { pause } from '../cluster/deadline.js';
import { FatalError, LogUnavailable, PoisonRecord, RetryableError } from '../failures.js';
import type { BatchContext, ConsumeOptions, Logger, StoredRecord } from '../log.js';
import type { UnreadableBatch } from './decode-batches.js';
import type { RecordRange } from './fetch-partitions.js';
import type { Park } from './park-records.js';

const UNEXPECTED_ERRORS_MAX = 5;
const RETRY_DELAY_MS = 100;
const RETRY_DELAY_MS_MAX = 5_000;

/**
 * A partition that this process owns, from its assignment to its revocation. It decides what each failure means: retry
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
  readonly #parts: { readonly logger: Logger; readonly park: Park };
  readonly #revoked = new AbortController();
  readonly #untilRevoked = new Promise<void>((resolve) => {
    this.#revoked.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  #isStale = false;

  constructor(partition: number, options: ConsumeOptions<T>, parts: { logger: Logger; park: Park }) {
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
    await this.#insist(async () => {
      this.position = await this.#options.positionOf(this.partition);
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
    if (unreadable !== undefined) {
      const { reason } = unreadable;
      if (!(await this.#insist(() => this.#park(asRecord(unreadable), reason)))) return;
    }
    const readable: T[] = [];
    for (const record of records) {
      try {
        readable.push(this.#options.decode(record));
      } catch (error) {
        if (!(error instanceof PoisonRecord)) throw error;
        if (!(await this.#insist(() => this.#park(record, error.message)))) return;
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
      await pause(delayMs, this.#revoked.signal);
      // What failed may have been taken over, and is not taken back.
      await Promise.race([this.#options.confirmed?.(), this.#untilRevoked]);
    }
    return false;
  }

  readonly #context: BatchContext = {
    assertOwned: () => {
      if (this.#isStale) {
        throw new RetryableError(`${this.#options.topic}/${this.partition} is another process's now`);
      }
    },
    park: (record, reason) => this.#park(record, reason),
  };

  async #park(record: StoredRecord, reason: string): Promise<void> {
    const { topic, partition, offset } = record;
    await this.#parts.park(record, reason);
    this.#parts.logger.error({ topic, partition, offset, reason }, 'a record was parked');
    this.#options.onParked?.(record, reason);
  }
}

/** A batch that cannot be decoded, as a record: its bytes are the value, `parked-next-offset` is where it ends. */
function asRecord({ topic, partition, baseOffset, nextOffset, bytes }: UnreadableBatch): StoredRecord {
  const headers = { 'parked-next-offset': String(nextOffset) };
  return { topic, partition, offset: baseOffset, timestampMs: 0, key: '', value: bytes, headers };
}
