import { writeFileSync } from 'node:fs';
import { readOptions, readRange } from '@makerbook/settings';
import { cutPlan } from './cut-plan.js';
import { defects } from './defects.js';
import { runWithDefect } from './find-defect.js';
import { keptRunOf, keptRuns } from './keep-runs.js';
import { planRun } from './plan-run.js';

/** Plants each defect, and counts the seeds that find it. Exits with 1 when none does. */
const USAGE = `npm run simulate:service-defects -- [--seeds A..B] [--name TEXT] [--keep]
  --seeds: 1..200 if not given; --name: only defects with this text in their names; --keep: ends with the first seed that finds
  it, and writes the actions that it needs to kept-runs/, where the tests run it again`;
const { values } = readOptions(USAGE, {
  seeds: { type: 'string', default: '1..200' },
  name: { type: 'string', default: '' },
  keep: { type: 'boolean', default: false },
});
const seeds = [...readRange(USAGE, '--seeds', values.seeds)];
for (const defect of defects.filter(({ name }) => name.includes(values.name))) {
  const found: string[] = [];
  for (const seed of seeds) {
    const plan = planRun(seed);
    const wrong = await runWithDefect(defect, plan);
    if (wrong === undefined) continue;
    found.push(`seed ${seed}: ${wrong}`);
    if (!values.keep) continue;
    const cut = await cutPlan(plan, async (smaller) => (await runWithDefect(defect, smaller)) !== undefined);
    writeFileSync(new URL(keptRunOf(defect.name), keptRuns), `${JSON.stringify(cut, null, 1)}\n`);
    break;
  }
  if (found.length === 0) process.exitCode = 1;
  console.log(`${defect.name}\n  in ${found.length} of ${seeds.length}; ${found[0]?.slice(0, 180) ?? 'not found'}`);
}
