import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cutPlan } from './cut-plan.js';
import { defects } from './defects.js';
import { runWithDefect } from './find-defect.js';
import { keptRunOf, readKeptRuns } from './keep-runs.js';
import { planRun } from './plan-run.js';

/**
 * Plants each defect whose name has this text, and counts the seeds that find it; where none does, its kept run has to.
 * @param keep the folder for the actions by which the first of them finds it; the others are not run then
 * @returns whether each was found
 */
export async function runDefects(seeds: readonly number[], text: string, keep: string | undefined): Promise<boolean> {
  let isEachFound = true;
  for (const defect of defects.filter(({ name }) => name.includes(text))) {
    const found: string[] = [];
    for (const seed of seeds) {
      const plan = planRun(seed);
      const wrong = await runWithDefect(defect, plan);
      if (wrong === undefined) continue;
      found.push(`seed ${seed}: ${wrong}`);
      if (keep === undefined) continue;
      const cut = await cutPlan(plan, async (smaller) => (await runWithDefect(defect, smaller)) !== undefined);
      writeFileSync(join(keep, keptRunOf(defect.name)), `${JSON.stringify(cut, null, 1)}\n`);
      break;
    }
    const kept = readKeptRuns().find(({ file }) => file === keptRunOf(defect.name));
    const byKept = found.length === 0 && kept ? await runWithDefect(defect, kept.plan) : undefined;
    if (found.length === 0 && byKept === undefined) isEachFound = false;
    const first = found[0] ?? (byKept && `by its kept run: ${byKept}`) ?? 'not found';
    console.log(`${defect.name}\n  in ${found.length} of ${seeds.length}; ${first.slice(0, 180)}`);
  }
  return isEachFound;
}
