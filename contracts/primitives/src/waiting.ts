/** Resolves after so many milliseconds, or at once when the signal is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, signal?.aborted ? 0 : ms);
    signal?.addEventListener('abort', end);
    function end(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    }
  });
}

/** How work is repeated. */
export interface RetryOptions {
  /** Called with each failure and the length of the pause after it. If it returns false, the failure is thrown. */
  readonly mayRepeat: (error: unknown, pauseMs: number) => boolean;
  /** An abort ends the current pause. Then the last failure is thrown. */
  readonly signal?: AbortSignal;
  /** Waits. Default: `pause`. */
  readonly wait?: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** The first pause. Default 100. Each pause is twice the one before. */
  readonly firstMs?: number;
  /** The longest pause. Default 5000. */
  readonly pauseMsMax?: number;
}

/** Repeats work until it succeeds, with pauses that grow. @throws a failure that may not be repeated */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { mayRepeat, signal, wait = pause, firstMs = 100, pauseMsMax = 5_000 } = options;
  for (let pauseMs = firstMs; ; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
    try {
      return await work();
    } catch (error) {
      if (signal?.aborted || !mayRepeat(error, pauseMs)) throw error;
      await wait(pauseMs, signal);
      if (signal?.aborted) throw error;
    }
  }
}
