import { setTimeout as pause } from 'node:timers/promises';

type Condition = () => boolean | Promise<boolean>;

/** Waits until the condition holds. The error names what it waited for: the condition's own text by default. */
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
