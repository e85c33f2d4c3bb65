import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cutPlan } from './cut-plan.js';
import { defects } from './defects.js';
import { runWithDefect } from './find-defect.js';
import { keptRunOf } from './keep-runs.js';
import { planRun } from './plan-run.js';

/**
 * Plants each defect whose name has this text, and counts the seeds that find it.
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
    if (found.length === 0) isEachFound = false;
    console.log(`${defect.name}\n  in ${found.length} of ${seeds.length}; ${found[0]?.slice(0, 180) ?? 'not found'}`);
  }
  return isEachFound;
}
