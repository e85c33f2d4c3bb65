import { expect, test } from '@jest/globals';
import { keptRunOf, readKeptRuns, runWithDefect } from '@makerbook/parts';
import { defects, projectors } from './testing/simulation/defects.js';
import { type Plan, planRun } from './testing/simulation/plan-run.js';
import { runPlan } from './testing/simulation/simulate-projector.js';

async function traceOf(plan: Plan): Promise<string[]> {
  const lines: string[] = [];
  await runPlan(plan, { onLine: (line) => lines.push(line) });
  return lines;
}

test('the feeds hold what the log leads to, each message once, and the rows follow, whatever comes between the steps', async () => {
  const sums = { commits: 0, takes: 0, quarantines: 0 };
  for (let seed = 1; seed <= 200; seed += 1) {
    const plan = planRun(seed);
    const { wrong, ...report } = await runPlan(plan);
    if (wrong.length > 0) throw new Error([...(await traceOf(plan)), ...wrong, `seed ${seed}`].join('\n'));
    for (const what of ['commits', 'takes', 'quarantines'] as const) sums[what] += report[what];
  }
  expect(sums.commits).toBeGreaterThan(4_000);
  expect(sums.takes).toBeGreaterThan(1_000);
  expect(sums.quarantines).toBeGreaterThan(50);
});

/** Written by `npm run simulate:projector -- --keep FOLDER` and `npm run simulate:projector-defects -- --keep`. */
const kept = readKeptRuns(projectors);

test.each(kept)('the kept run $file, without a defect, is right', async ({ plan }) => {
  expect((await runPlan(plan)).wrong).toEqual([]);
});

test('the same plan does the same again', async () => {
  const plan = planRun(8, { hasFaults: true, hasOlderRows: true });
  const trace = await traceOf(plan);
  expect(trace.length).toBeGreaterThan(40);
  expect(await traceOf(plan)).toEqual(trace);
});

test.each(defects)('a planted defect is found: $name', async (defect) => {
  const run = kept.find(({ file }) => file === keptRunOf(defect));
  expect(run).toBeDefined();
  expect(run && (await runWithDefect(projectors, defect, run.plan))).toBeDefined();
});
