import { pause } from '@makerbook/contracts-primitives';
import { MakerbookError, thatMayHaveHappened } from './errors.js';

export interface RetryOptions {
  /** Tries in all. Default 5. */
  readonly attemptsMax?: number;
  /** The pause after the first failure, doubled after each further one. Default 250. */
  readonly pauseMs?: number;
  /** The longest pause, even if `Retry-After` asks for more. Default 10000. */
  readonly pauseMsMax?: number;
  /** Called before each pause. */
  readonly onRetry?: (error: MakerbookError, pauseMs: number) => void;
  readonly sleep?: (ms: number) => Promise<void>;
  /** From 0 to 1; spreads the tries of many clients. */
  readonly random?: () => number;
}

/**
 * Repeats work while it fails with a retryable MakerbookError. Pauses for `Retry-After` or for a growing time,
 * whichever is longer. Throws the error of the last try, with `mayHaveHappened` if any try may have done the work.
 */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const { attemptsMax = 5, pauseMs = 250, pauseMsMax = 10_000, random = Math.random } = options;
  const { sleep = pause } = options;
  let mayHaveHappened = false;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof MakerbookError)) throw error;
      mayHaveHappened ||= error.mayHaveHappened;
      if (!error.retryable || attempt >= attemptsMax) throw mayHaveHappened ? thatMayHaveHappened(error) : error;
      const growing = pauseMs * 2 ** (attempt - 1) * (0.5 + random() / 2);
      const asked = error.retryAfterSeconds === undefined ? 0 : error.retryAfterSeconds * 1000;
      const waitMs = Math.min(pauseMsMax, Math.max(growing, asked));
      options.onRetry?.(error, waitMs);
      await sleep(waitMs);
    }
  }
}
