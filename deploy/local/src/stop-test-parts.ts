import { rmSync } from 'node:fs';
import type { Part } from './spawn-part.js';

declare global {
  // Jest runs set-up and tear-down in one process, and hands nothing from one to the other.
  var makerbookTestParts: { readonly folder: string; readonly started: readonly Part[] } | undefined;
}

/** Jest's global tear-down for live tests. */
export default async function stopTestParts(): Promise<void> {
  await stopRunningTestParts();
}

/** Stops what the set-up has started, also when it got only half way, and removes its folder. */
export async function stopRunningTestParts(): Promise<void> {
  const running = globalThis.makerbookTestParts;
  if (running === undefined) return;
  globalThis.makerbookTestParts = undefined;
  // Nothing of it is needed again: no part has to write down what it knows.
  for (const part of running.started) part.kill('SIGKILL');
  await Promise.all(running.started.map((part) => part.exited));
  rmSync(running.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
