/** Resolves when the work does, or the timeout: then the work is aborted. */
export async function within(timeout: Promise<void>, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const over = new AbortController();
  await Promise.race([work(over.signal), timeout]);
  // A reason of its own: an abort without one builds an error with its stack.
  over.abort('over');
}
