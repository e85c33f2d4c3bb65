import { describe, expect, test } from '@jest/globals';
import { keptRunOf, readKeptRuns, runWithDefect } from '@makerbook/parts';
import { defects, watchers } from './testing/simulation/defects.js';
import { type Plan, type PlanOptions, planRun } from './testing/simulation/plan-run.js';
import { runPlan } from './testing/simulation/simulate-watchers.js';

/** Runs the seeds; of the first one in which something was wrong it shows all that happened. */
async function simulate(
  seeds: number,
  given: PlanOptions,
): Promise<{ held: number; kills: number; takeOvers: number }> {
  const sums = { held: 0, kills: 0, takeOvers: 0 };
  for (let seed = 1; seed <= seeds; seed += 1) {
    const plan = planRun(seed, given);
    const { wrong, held, kills, takeOvers } = await runPlan(plan);
    if (wrong.length > 0) throw new Error([...(await traceOf(plan)), ...wrong, `seed ${seed}`].join('\n'));
    sums.held += held;
    sums.kills += kills;
    sums.takeOvers += takeOvers;
  }
  return sums;
}

async function traceOf(plan: Plan): Promise<string[]> {
  const lines: string[] = [];
  await runPlan(plan, { onLine: (line) => lines.push(line) });
  return lines;
}

describe('no order is ACTIVE that was not so at the block, and none is missed, whatever comes between the steps', () => {
  test('of one watcher, on nodes and a log that fail', async () => {
    const { held } = await simulate(25, { watchers: 1, hasKills: false, hasFaults: true });
    expect(held).toBeGreaterThan(1000);
  });

  test('of one after the other, killed, stopped and frozen anywhere', async () => {
    const { held, kills } = await simulate(25, { watchers: 1, hasKills: true });
    expect(held).toBeGreaterThan(1000);
    expect(kills).toBeGreaterThan(20);
  });

  test('of a holder with standbys, killed, stopped and frozen anywhere', async () => {
    const { held, takeOvers } = await simulate(25, { watchers: 3, hasKills: true });
    expect(held).toBeGreaterThan(1000);
    expect(takeOvers).toBeGreaterThan(60);
  });
});

/** Written by `npm run simulate:watchers -- --keep FOLDER` and `npm run simulate:defects -- --keep`. */
const kept = readKeptRuns(watchers);

test.each(kept)('the kept run $file, without a defect, is right', async ({ plan }) => {
  expect((await runPlan(plan)).wrong).toEqual([]);
});

test('the same plan does the same again', async () => {
  const plan = planRun(7, { watchers: 3, hasKills: true, hasFaults: true });
  const trace = await traceOf(plan);
  expect(trace.length).toBeGreaterThan(100);
  expect(await traceOf(plan)).toEqual(trace);
});

test.each(defects)('a planted defect is found: $name', async (defect) => {
  const run = kept.find(({ file }) => file === keptRunOf(defect));
  expect(run).toBeDefined();
  expect(run && (await runWithDefect(watchers, defect, run.plan))).toBeDefined();
});
