import { writeFileSync } from 'node:fs';
import { cutPlan, endWithUsage, readOptions, readRange, readWhole } from '@makerbook/parts';
import { planRun } from './plan-run.js';
import { runPlan } from './simulate-watchers.js';

/** Runs the simulation of watchers. Exits with 1 when a seed found something wrong. */
const USAGE = `npm run simulate:watchers -- [--seed N | --seeds A..B] [--watchers N] [--kills yes|no] [--faults yes|no] [--failures N] [--keep FOLDER]
  --seed: with all that happens, line by line; --seeds: 1..1000 if not given; --failures: ends after so many, 10 if not given;
  --keep: writes the actions of each failing run, without those that it does not need; the others: instead of what the seed draws`;
const { values } = readOptions(USAGE, {
  seed: { type: 'string' },
  seeds: { type: 'string', default: '1..1000' },
  watchers: { type: 'string' },
  kills: { type: 'string' },
  faults: { type: 'string' },
  failures: { type: 'string', default: '10' },
  keep: { type: 'string' },
});
const given = {
  watchers: values.watchers === undefined ? undefined : readWhole(USAGE, '--watchers', values.watchers, 1),
  hasKills: values.kills === undefined ? undefined : isYes('--kills', values.kills),
  hasFaults: values.faults === undefined ? undefined : isYes('--faults', values.faults),
};
const seeds = readRange(USAGE, values.seed === undefined ? '--seeds' : '--seed', values.seed ?? values.seeds);
const failuresMax = readWhole(USAGE, '--failures', values.failures, 1);
const onLine = values.seed === undefined ? undefined : (line: string) => console.log(line);
const startedAtMs = Date.now();
const counted = ['blocks', 'records', 'terms', 'kills', 'quarantines', 'suspensions', 'watchers', 'held'] as const;
const sums: Record<string, number> & { seeds: number; failed: number } = { seeds: 0, failed: 0 };
const ends: Record<string, number> = {};
for (const seed of seeds) {
  if (sums.failed >= failuresMax) break;
  const plan = planRun(seed, given);
  const report = await runPlan(plan, { onLine });
  sums.seeds += 1;
  for (const what of counted) sums[what] = (sums[what] ?? 0) + report[what];
  for (const [end, times] of Object.entries(report.ends)) ends[end] = (ends[end] ?? 0) + times;
  if (report.wrong.length === 0) continue;
  sums.failed += 1;
  console.log(`seed ${seed}:\n  ${report.wrong.slice(0, 5).join('\n  ')}`);
  if (values.keep === undefined) continue;
  const cut = await cutPlan(plan, async (smaller) => (await runPlan(smaller)).wrong.length > 0);
  writeFileSync(`${values.keep}/seed-${seed}.json`, `${JSON.stringify(cut, null, 1)}\n`);
}
console.log(JSON.stringify(sums), JSON.stringify(ends), `${((Date.now() - startedAtMs) / 1000).toFixed(1)} s`);
process.exitCode = sums.failed > 0 ? 1 : 0;

function isYes(option: string, text: string): boolean {
  if (text === 'yes' || text === 'no') return text === 'yes';
  return endWithUsage(USAGE, `${option} ${text}: yes or no`);
}
