import { expect, test } from '@jest/globals';
import { defects } from './defects.js';
import { findDefect, runWithDefect } from './find-defect.js';
import { keptRunOf, readKeptRuns } from './keep-runs.js';
import { type Plan, planRun } from './plan-run.js';
import { runPlan } from './simulate-service.js';

async function traceOf(plan: Plan): Promise<string[]> {
  const lines: string[] = [];
  await runPlan(plan, { onLine: (line) => lines.push(line) });
  return lines;
}

test('answers, messages and rows match the log and the chain, whatever comes between the steps', async () => {
  const sums = {
    accepted: 0,
    cancelled: 0,
    commits: 0,
    quarantines: 0,
    held: 0,
    capped: 0,
    byReader: 0,
    asked: 0,
    streamed: 0,
  };
  for (let seed = 1; seed <= 60; seed += 1) {
    const plan = planRun(seed);
    const { wrong, ...report } = await runPlan(plan);
    if (wrong.length > 0) throw new Error([...(await traceOf(plan)), ...wrong, `seed ${seed}`].join('\n'));
    for (const what of Object.keys(sums) as (keyof typeof sums)[]) sums[what] += report[what];
  }
  expect(sums.accepted).toBeGreaterThan(320);
  expect(sums.cancelled).toBeGreaterThan(120);
  expect(sums.commits).toBeGreaterThan(2_000);
  expect(sums.quarantines).toBeGreaterThan(12);
  expect(sums.held).toBeGreaterThan(1_000);
  expect(sums.capped).toBeGreaterThan(50);
  expect(sums.byReader).toBeGreaterThan(20);
  expect(sums.asked).toBeGreaterThan(200);
  expect(sums.streamed).toBeGreaterThan(1_000);
});

/** Written by `npm run simulate -- --keep FOLDER`, for planted defects with `--defects`. */
const kept = readKeptRuns();

test.each(kept)('the kept run $file is right if no defect is planted', async ({ plan }) => {
  expect((await runPlan(plan)).wrong).toEqual([]);
});

test('the same plan gives the same trace and result again, with or without a listener', async () => {
  const plan = planRun(1, { hasFaults: true, hasKills: true, hasCrashes: true });
  const trace = await traceOf(plan);
  expect(trace.length).toBeGreaterThan(100);
  expect(await traceOf(plan)).toEqual(trace);
  expect(await runPlan(plan)).toEqual(await runPlan(plan, { onLine() {} }));
});

const seeds = Array.from({ length: 200 }, (_, index) => index + 1);
test.each(defects)('a planted defect is found: $name', async (defect) => {
  const run = kept.find(({ file }) => file === keptRunOf(defect.name));
  // The kept run may no longer find the defect if the code draws otherwise since.
  const byRun = run && (await runWithDefect(defect, run.plan));
  expect(byRun ?? (await findDefect(defect, seeds))).toBeDefined();
});
