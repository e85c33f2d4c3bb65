import { RpcRefused, RpcUnavailable } from '@makerbook/chain';
import { LogUnavailable } from '@makerbook/kafka';
import { PostgresUnavailable } from '@makerbook/postgres';

const FIRST_PAUSE_MS = 100;
const PAUSE_MS_MAX = 5000;

/** True if the work may succeed later: a node, Kafka or Postgres is away. Any other error ends the watcher. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof RpcRefused) return error.retryable;
  return error instanceof RpcUnavailable || error instanceof LogUnavailable || error instanceof PostgresUnavailable;
}

export interface RetryOptions {
  readonly signal: AbortSignal;
  /** Resolves after so many milliseconds, or at once on abort. */
  readonly wait: (ms: number) => Promise<void>;
  readonly onFailure: (error: Error) => void;
  readonly onSuccess: () => void;
}

/** Repeats the work until it succeeds, with pauses that grow. Throws what is not retryable, or the last failure on abort. */
export async function retrying<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
    try {
      const result = await work();
      options.onSuccess();
      return result;
    } catch (error) {
      if (!isRetryable(error) || options.signal.aborted) throw error;
      options.onFailure(error as Error);
      await options.wait(pauseMs);
      if (options.signal.aborted) throw error;
    }
  }
}
