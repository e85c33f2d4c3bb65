import { pause, retry, Unavailable } from '@makerbook/contracts-primitives';
import { FatalError, PoisonRecord, RetryableError } from '../failures.js';
import type { BatchContext, ConsumeOptions, Logger, StoredRecord } from '../log.js';
import type { RecordRange } from './fetch-partitions.js';
import type { Park } from './park-records.js';

const UNEXPECTED_ERRORS_MAX = 5;

/**
 * A partition that this process owns, from its assignment to its revocation. It decides what each failure means: retry
 * (the partition waits, nothing is skipped), park (only the record is set aside), or stop (throws FatalError).
 */
export class OwnedPartition<T> {
  readonly partition: number;
  /** Undefined until the store has answered. */
  position: bigint | undefined;
  /** Why the partition waits, if it does. */
  retrying: string | undefined = 'its position is not known yet';
  readonly #options: ConsumeOptions<T>;
  readonly #parts: { readonly logger: Logger; readonly park: Park };
  readonly #revoked = new AbortController();
  readonly #untilRevoked = new Promise<void>((resolve) => {
    this.#revoked.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  #isLost = false;

  constructor(partition: number, options: ConsumeOptions<T>, parts: { logger: Logger; park: Park }) {
    this.partition = partition;
    this.#options = options;
    this.#parts = parts;
  }

  /** Lets the handler end, but not try again. If the partition is lost, nothing may be committed: others may own it. */
  revoke(isLost: boolean): void {
    this.#isLost ||= isLost;
    this.#revoked.abort();
  }

  get isRevoked(): boolean {
    return this.#revoked.signal.aborted;
  }

  /** Asks the store where to continue. */
  async seek(): Promise<void> {
    await this.#retryUntilRevoked(async () => {
      this.position = await this.#options.positionOf(this.partition);
    });
  }

  /** Hands the records over, and moves the position. If the partition is revoked first, its next owner does. */
  async handle({ records, fromOffset, nextOffset }: RecordRange): Promise<void> {
    const { partition } = this;
    const { decode, handleBatch } = this.#options;
    const readable: T[] = [];
    for (const record of records) {
      try {
        if (record.unreadable !== undefined) throw new PoisonRecord(record.unreadable);
        readable.push(decode(record));
      } catch (error) {
        if (!(error instanceof PoisonRecord)) throw error;
        if (!(await this.#retryUntilRevoked(() => this.#park(record, error.message)))) return;
      }
    }
    const batch = { partition, records: readable, fromOffset, nextOffset };
    const isHandled = await this.#retryUntilRevoked(() => handleBatch(batch, this.#context));
    if (isHandled && !this.#isLost) this.position = nextOffset;
  }

  /**
   * Repeats the work while its error can be retried. False if the partition is revoked first. Throws FatalError, also
   * after several unexpected errors.
   */
  async #retryUntilRevoked(work: () => Promise<void>): Promise<boolean> {
    if (this.isRevoked) return false;
    const { topic, confirmed } = this.#options;
    const { partition, position } = this;
    const { signal } = this.#revoked;
    let unexpected = 0;
    const mayRepeat = (error: unknown, pauseMs: number) => {
      if (error instanceof FatalError) return false;
      const reason = error instanceof Error ? error.message : String(error);
      unexpected += error instanceof Unavailable ? 0 : 1;
      if (unexpected > UNEXPECTED_ERRORS_MAX) {
        const what = `${topic}/${partition} from ${position ?? 'the position of the store'}`;
        throw new FatalError(`handling ${what} failed ${unexpected} times: ${reason}`, { cause: error });
      }
      this.retrying = reason;
      this.#parts.logger.warn({ topic, partition, position, reason, pauseMs }, 'a partition waits to be retried');
      return true;
    };
    const wait = async (ms: number) => {
      await pause(ms, signal);
      // After a failure another process may own the partition: do not take it back.
      await Promise.race([confirmed?.(), this.#untilRevoked]);
    };
    try {
      await retry(work, { mayRepeat, signal, wait });
    } catch (error) {
      if (this.isRevoked && !(error instanceof FatalError)) return false;
      throw error;
    }
    this.retrying = undefined;
    return true;
  }

  readonly #context: BatchContext = {
    assertOwned: () => {
      if (this.#isLost) throw new RetryableError(`another process owns ${this.#options.topic}/${this.partition} now`);
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
