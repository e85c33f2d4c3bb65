/** About 2 ms of work, up to 4 ms where a signature is tried in two ways. */
export const SIGNATURES_PER_SLICE = 20;

/**
 * Long work is cut into slices, of which each round of the event loop has one, in their order: between two of them
 * everything else is served, however many long requests there are.
 * @returns what resolves when the next slice may begin
 */
export function createSlices(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => new Promise((done) => setImmediate(done)));
    return last;
  };
}
