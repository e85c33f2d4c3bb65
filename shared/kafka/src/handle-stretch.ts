import type { Owned } from './consume-partitions.js';
import { FatalError, LogUnavailable, PoisonRecord, RetryableError } from './failures.js';
import type { Stretch } from './fetch-partitions.js';
import type { BatchContext, ConsumeOptions, Logger, StoredRecord } from './log.js';
import { pause } from './wait.js';

const UNEXPECTED_ERRORS_MAX = 5;
const RETRY_DELAY_MS = 100;
const RETRY_DELAY_MS_MAX = 5_000;

/**
 * Hands one stretch to the handler until it is done with, and decides what each failure means: retry (the partition
 * waits, nothing is skipped), park (the record alone is set aside), or stop (throws FatalError).
 * False when the partition was given back first; its next owner begins at the store's position.
 */
export async function handleStretch<T>(
  one: Owned,
  stretch: Stretch,
  options: ConsumeOptions<T>,
  parts: {
    readonly logger: Logger;
    readonly park: (record: StoredRecord, reason: string) => Promise<void>;
    readonly retrying: (reason: string | undefined) => void;
  },
): Promise<boolean> {
  const { topic } = options;
  const { partition } = one;
  const parked = new Set<bigint>();
  const unexpectedMax = options.unexpectedErrorsMax ?? UNEXPECTED_ERRORS_MAX;
  const delayMsMax = options.retryDelayMsMax ?? RETRY_DELAY_MS_MAX;
  let delayMs = options.retryDelayMs ?? RETRY_DELAY_MS;
  let unexpected = 0;

  async function park(record: StoredRecord, reason: string): Promise<void> {
    await parts.park(record, reason);
    parts.logger.error({ topic, partition, offset: record.offset, reason }, 'a record was parked');
    options.onParked?.(record, reason);
  }

  const context: BatchContext = {
    heartbeat: () => {
      if (one.stale) {
        throw new RetryableError(`${topic}/${partition} was given to another member`);
      }
    },
    isStale: () => one.stale,
    park,
  };

  async function attempt(): Promise<void> {
    const records: T[] = [];
    for (const record of stretch.records) {
      if (parked.has(record.offset)) {
        continue;
      }
      try {
        records.push(options.decode === undefined ? (record as T) : options.decode(record));
      } catch (error) {
        if (!(error instanceof PoisonRecord)) {
          throw error;
        }
        await park(record, error.message);
        parked.add(record.offset);
      }
    }
    const { fromOffset, nextOffset } = stretch;
    await options.handleBatch({ partition, records, fromOffset, nextOffset }, context);
  }

  for (;;) {
    let failure: unknown;
    try {
      await attempt();
      parts.retrying(undefined);
      return !one.stale;
    } catch (error) {
      failure = error;
    }
    const poison = poisoned(failure, stretch, parked);
    if (poison !== undefined) {
      try {
        await park(poison, (failure as Error).message);
        parked.add(poison.offset);
        continue;
      } catch (error) {
        failure = error;
      }
    }
    if (failure instanceof FatalError) {
      throw failure;
    }
    const reason = failure instanceof Error ? failure.message : String(failure);
    if (!(failure instanceof RetryableError || failure instanceof LogUnavailable)) {
      unexpected += 1;
      if (unexpected > unexpectedMax) {
        throw new FatalError(
          `handling ${topic}/${partition} from ${stretch.fromOffset} failed ${unexpected} times in a row: ${reason}`,
          { cause: failure },
        );
      }
    }
    if (one.revoked.signal.aborted) {
      return false;
    }
    parts.retrying(reason);
    parts.logger.warn(
      { topic, partition, fromOffset: stretch.fromOffset, reason, delayMs },
      'a batch waits to be retried',
    );
    await pause(delayMs, one.revoked.signal);
    if (one.revoked.signal.aborted) {
      return false;
    }
    delayMs = Math.min(delayMs * 2, delayMsMax);
  }
}

/** The record that a handler named as poison, if it is one of this stretch that is not parked yet. */
function poisoned(failure: unknown, stretch: Stretch, parked: ReadonlySet<bigint>): StoredRecord | undefined {
  if (!(failure instanceof PoisonRecord) || failure.offset === undefined || parked.has(failure.offset)) {
    return undefined;
  }
  return stretch.records.find(({ offset }) => offset === failure.offset);
}
