/** Resolves when the work or the timeout does. Then aborts the work. */
export async function within(timeout: Promise<void>, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const over = new AbortController();
  await Promise.race([work(over.signal), timeout]);
  // Give a reason: an abort without one builds an error with its stack.
  over.abort('over');
}
