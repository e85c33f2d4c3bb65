import { setTimeout as pause } from 'node:timers/promises';

/** Asks until the answer is the expected one. Fails with the last answer after a generous time. */
export async function eventually<T>(ask: () => Promise<T>, expected: T, waitMs = 300_000): Promise<void> {
  const wanted = JSON.stringify(expected);
  const deadline = Date.now() + waitMs;
  let last = '';
  for (;;) {
    try {
      last = JSON.stringify(await ask());
    } catch (error) {
      last = String(error);
    }
    if (last === wanted) return;
    if (Date.now() > deadline) throw new Error(`expected ${wanted}, but after ${waitMs} ms it is still ${last}`);
    await pause(100);
  }
}
