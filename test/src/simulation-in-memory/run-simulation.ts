import { mkdirSync, writeFileSync } from 'node:fs';
import { readOptions, readRange, readWhole } from '@makerbook/settings';
import { cutPlan } from './cut-plan.js';
import { planRun } from './plan-run.js';
import { runPlan } from './simulate-service.js';

/** Runs the seeds, and prints the sums of all numbers in their reports. Exits with 1 when a seed found something wrong. */
const USAGE = `npm run simulate:service -- [--seed N | --seeds A..B] [--failures N] [--keep FOLDER]
  --seed: with all that happens, line by line; --seeds: 1..1000 if not given; --failures: ends after so many, 10 if not given;
  --keep: writes the actions of each failing run, without those that it does not need`;
const { values } = readOptions(USAGE, {
  seed: { type: 'string' },
  seeds: { type: 'string', default: '1..1000' },
  failures: { type: 'string', default: '10' },
  keep: { type: 'string' },
});
const { seed: single, keep } = values;
const range = readRange(USAGE, single === undefined ? '--seeds' : '--seed', single ?? values.seeds);
const failuresMax = readWhole(USAGE, '--failures', values.failures, 1);
const options = single === undefined ? {} : { onLine: (line: string) => console.log(line) };
if (keep !== undefined) mkdirSync(keep, { recursive: true });
const startedAtMs = Date.now();
const sums: Record<string, number> & { seeds: number; failed: number } = { seeds: 0, failed: 0 };
for (const seed of range) {
  if (sums.failed >= failuresMax) break;
  const plan = planRun(seed);
  const { wrong, ...report } = await runPlan(plan, options);
  sums.seeds += 1;
  for (const [what, count] of Object.entries(report)) sums[what] = (sums[what] ?? 0) + count;
  if (wrong.length === 0) continue;
  sums.failed += 1;
  console.log(`seed ${seed}:\n  ${wrong.slice(0, 5).join('\n  ').slice(0, 4_000)}`);
  if (keep === undefined) continue;
  const cut = await cutPlan(plan, async (smaller) => (await runPlan(smaller)).wrong.length > 0);
  writeFileSync(`${keep}/seed-${seed}.json`, `${JSON.stringify(cut, null, 1)}\n`);
}
const seconds = ((Date.now() - startedAtMs) / 1000).toFixed(1);
const cpuSeconds = (process.cpuUsage().user / 1e6).toFixed(1);
console.log(JSON.stringify(sums), `${seconds} s, ${cpuSeconds} s of CPU`);
process.exitCode = sums.failed > 0 ? 1 : 0;
