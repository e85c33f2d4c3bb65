import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cutPlan } from './cut-plan.js';
import { planRun } from './plan-run.js';
import { runPlan } from './simulate-service.js';

export interface RunSeedsOptions {
  /** Ends after this many failures. */
  readonly failuresMax: number;
  /** The folder for the actions of each failing run. */
  readonly keep: string | undefined;
  /** Prints all that happens. */
  readonly isTraced: boolean;
}

/** Runs the seeds, and prints the sums of all numbers in their reports. @returns whether nothing was wrong */
export async function runSeeds(seeds: Iterable<number>, { failuresMax, keep, isTraced }: RunSeedsOptions) {
  const options = isTraced ? { onLine: (line: string) => console.log(line) } : {};
  const startedAtMs = Date.now();
  const sums: Record<string, number> & { seeds: number; failed: number } = { seeds: 0, failed: 0 };
  for (const seed of seeds) {
    if (sums.failed >= failuresMax) break;
    const plan = planRun(seed);
    const { wrong, ...report } = await runPlan(plan, options);
    sums.seeds += 1;
    for (const [what, count] of Object.entries(report)) sums[what] = (sums[what] ?? 0) + count;
    if (wrong.length === 0) continue;
    sums.failed += 1;
    console.log(`seed ${seed}:\n  ${wrong.slice(0, 5).join('\n  ').slice(0, 4_000)}`);
    if (keep === undefined) continue;
    const cut = await cutPlan(plan, async (smaller) => (await runPlan(smaller)).wrong.length > 0);
    writeFileSync(join(keep, `seed-${seed}.json`), `${JSON.stringify(cut)}\n`);
  }
  const seconds = ((Date.now() - startedAtMs) / 1000).toFixed(1);
  const cpuSeconds = (process.cpuUsage().user / 1e6).toFixed(1);
  console.log(JSON.stringify(sums), `${seconds} s, ${cpuSeconds} s of CPU`);
  return sums.failed === 0;
}
