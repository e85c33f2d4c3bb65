import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cutPlan } from './cut-plan.js';
import { defects } from './defects.js';
import { findDefect, runWithDefect } from './find-defect.js';
import { keptRunOf, readKeptRuns } from './keep-runs.js';

/**
 * Plants each defect whose name has this text until a seed finds it. If none does, its kept run must.
 * @param keep the folder for the actions that find each defect
 * @returns whether each defect was found
 */
export async function runDefects(seeds: readonly number[], text: string, keep: string | undefined): Promise<boolean> {
  let isEachFound = true;
  for (const defect of defects.filter(({ name }) => name.includes(text))) {
    const found = await findDefect(defect, seeds);
    if (found !== undefined && keep !== undefined) {
      const cut = await cutPlan(found.plan, async (plan) => (await runWithDefect(defect, plan)) !== undefined);
      writeFileSync(join(keep, keptRunOf(defect.name)), `${JSON.stringify(cut)}\n`);
    }
    const kept = found ?? readKeptRuns().find(({ file }) => file === keptRunOf(defect.name));
    const wrong = found?.wrong ?? (kept && (await runWithDefect(defect, kept.plan)));
    isEachFound &&= wrong !== undefined;
    const by = found === undefined ? 'its kept run' : `seed ${found.plan.seed}`;
    console.log(`${defect.name}\n  ${wrong === undefined ? 'not found' : `by ${by}: ${wrong}`.slice(0, 180)}`);
  }
  return isEachFound;
}
