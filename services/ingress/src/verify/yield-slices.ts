/** About 2 ms of work, up to 4 ms if a signature is tried in two ways. */
export const SIGNATURES_PER_SLICE = 20;

/**
 * Cuts long work into slices. Each round of the event loop runs one, in their order. Everything else is served between
 * two slices, however many long requests there are.
 * @returns a function whose promise resolves when the next slice may begin
 */
export function createSlices(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => new Promise((done) => setImmediate(done)));
    return last;
  };
}
