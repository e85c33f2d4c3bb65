import { setTimeout as pause } from 'node:timers/promises';

type Condition = () => boolean | Promise<boolean>;

/** Waits until the condition holds. Its error quotes `what`, or else the text of the condition. */
export async function until(
  ...given: readonly [what: string, holds: Condition, waitMs?: number] | readonly [holds: Condition]
): Promise<void> {
  const [what, holds, waitMs = 300_000] = given.length === 1 ? [String(given[0]), given[0]] : given;
  const end = performance.now() + waitMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited ${waitMs} ms in vain until ${what}`);
    await pause(10);
  }
}
