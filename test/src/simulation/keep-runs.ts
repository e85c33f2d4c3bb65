import { readdirSync, readFileSync } from 'node:fs';
import type { Plan } from './plan-run.js';

/** The folder of runs that failed once and that seeds seldom draw. Each file is a plan with its actions. */
export const keptRuns = new URL('../../kept-runs/', import.meta.url);

export function readKeptRuns(): readonly { readonly file: string; readonly plan: Plan }[] {
  const files = readdirSync(keptRuns).filter((name) => name.endsWith('.json'));
  return files.map((file) => ({ file, plan: JSON.parse(readFileSync(new URL(file, keptRuns), 'utf8')) as Plan }));
}

/** The file of the run that finds a planted defect. */
export function keptRunOf(name: string): string {
  return `${name.replaceAll(/[^a-z]+/g, '-')}.json`;
}
