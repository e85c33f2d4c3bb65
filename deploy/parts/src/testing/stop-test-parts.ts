import { rmSync } from 'node:fs';
import type { Part } from '../spawn-part.js';

declare global {
  // Jest runs setup and teardown in one process, without passing a value.
  var makerbookTestParts: { readonly folder: string; readonly started: readonly Part[] } | undefined;
}

/** Jest's global tear-down for live tests. */
export default async function stopTestParts(): Promise<void> {
  await stopRunningTestParts();
}

/** Stops the parts that the set-up has started, even if it failed half way, and removes its folder. */
export async function stopRunningTestParts(): Promise<void> {
  const running = globalThis.makerbookTestParts;
  if (running === undefined) return;
  globalThis.makerbookTestParts = undefined;
  // Kill the parts: nobody needs their data again.
  for (const part of running.started) part.kill('SIGKILL');
  await Promise.all(running.started.map((part) => part.exited));
  rmSync(running.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
