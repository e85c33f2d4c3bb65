import { Unavailable } from '@makerbook/contracts-primitives';

/**
 * Kafka did not confirm in time. Retryable.
 * `mayHaveBeenAppended` is false when it is certain that nothing was stored, true when the outcome is unknown.
 */
export class LogUnavailable extends Unavailable {
  override readonly name = 'LogUnavailable';
  readonly mayHaveBeenAppended: boolean;

  constructor(message: string, options: { mayHaveBeenAppended: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.mayHaveBeenAppended = options.mayHaveBeenAppended;
  }
}

/** A record does not fit into a record batch. Nothing was stored; a retry does not help. */
export class RecordTooLarge extends Error {
  override readonly name = 'RecordTooLarge';
}

/**
 * Another publisher with the same transactional id has taken over, or the broker ended a transaction that took too
 * long. Readers see nothing of the failed call. This publisher is of no further use.
 */
export class PublisherFenced extends Error {
  override readonly name = 'PublisherFenced';
}

/** Topics are missing, or differ from what the service expects. The message names each difference and what to do. */
export class TopicMismatch extends Error {
  override readonly name = 'TopicMismatch';
}

/** Thrown by a handler: the same batch may succeed later. The loop waits and hands the batch over again. */
export class RetryableError extends Unavailable {
  override readonly name = 'RetryableError';
}

/**
 * An invariant is broken, or wanted records are no longer stored. A handler that throws it stops the consumer loop, and
 * the process has to exit.
 */
export class FatalError extends Error {
  override readonly name = 'FatalError';
}

/** Thrown by `decode`: this record can never be handled. The loop parks it and continues without it. */
export class PoisonRecord extends Error {
  override readonly name = 'PoisonRecord';
}

/** The error of a call that certainly stored nothing. */
export function unavailable(message: string, cause?: unknown): LogUnavailable {
  return new LogUnavailable(message, { mayHaveBeenAppended: false, cause });
}
