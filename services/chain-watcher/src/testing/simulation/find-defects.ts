import { readdirSync, readFileSync } from 'node:fs';
import { cutPlan } from './cut-plan.js';
import type { Defect } from './defects.js';
import { type Plan, planRun } from './plan-run.js';
import { runPlan } from './simulate-watchers.js';

/** Runs that were wrong once, with a planted defect or before a mistake was mended, each as its list of actions. */
export const KEPT_RUNS = new URL('../../../kept-runs/', import.meta.url);

export function readKeptRuns(): readonly { readonly file: string; readonly plan: Plan }[] {
  const files = readdirSync(KEPT_RUNS).filter((name) => name.endsWith('.json'));
  return files.map((file) => ({ file, plan: JSON.parse(readFileSync(new URL(file, KEPT_RUNS), 'utf8')) as Plan }));
}

/** The file of the run that finds a defect. */
export function keptRunOf({ name }: Defect): string {
  return `${name.replaceAll(/[^a-z]+/g, '-')}.json`;
}

/** What is wrong with the run while the defect is planted; undefined where it finds nothing. */
export async function runWithDefect(defect: Defect, plan: Plan): Promise<string | undefined> {
  const takeOut = defect.plant();
  try {
    return (await runPlan(plan, { checksOrder: false, ...defect.options })).wrong[0];
  } finally {
    takeOut();
  }
}

/** The first seed that finds the defect, without the actions that it does not need; undefined where none does. */
export async function findDefect(
  defect: Defect,
  seeds: Iterable<number>,
): Promise<{ readonly plan: Plan; readonly wrong: string } | undefined> {
  for (const seed of seeds) {
    const plan = planRun(seed, defect.plan);
    const wrong = await runWithDefect(defect, plan);
    if (wrong === undefined) continue;
    return { plan: await cutPlan(plan, async (cut) => (await runWithDefect(defect, cut)) !== undefined), wrong };
  }
  return undefined;
}
