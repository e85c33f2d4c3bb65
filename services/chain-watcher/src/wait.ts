/** Resolves after so many milliseconds, or at once when the signal is aborted. */
export function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}

/** Resolves when the work does, or the timeout: then the work is aborted. */
export async function within(timeout: Promise<void>, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const over = new AbortController();
  await Promise.race([work(over.signal), timeout]);
  over.abort();
}

/** Resolves on abort. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
