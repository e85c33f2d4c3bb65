import { writeFileSync } from 'node:fs';
import { cutPlan, readOptions, readRange, readWhole } from '@makerbook/parts';
import { planRun } from './plan-run.js';
import { runPlan } from './simulate-service.js';

/** Runs the simulation of the service. Exits with 1 when a seed found something wrong. */
const USAGE = `npm run simulate:service -- [--seed N | --seeds A..B] [--failures N] [--keep FOLDER]
  --seed: with all that happens, line by line; --seeds: 1..1000 if not given; --failures: ends after so many, 10 if not given;
  --keep: writes the actions of each failing run, without those that it does not need`;
const { values } = readOptions(USAGE, {
  seed: { type: 'string' },
  seeds: { type: 'string', default: '1..1000' },
  failures: { type: 'string', default: '10' },
  keep: { type: 'string' },
});
const seeds = readRange(USAGE, values.seed === undefined ? '--seeds' : '--seed', values.seed ?? values.seeds);
const failuresMax = readWhole(USAGE, '--failures', values.failures, 1);
const options = values.seed === undefined ? {} : { onLine: (line: string) => console.log(line) };
const startedAtMs = Date.now();
const sums: Record<string, number> & { seeds: number; failed: number } = { seeds: 0, failed: 0 };
for (const seed of seeds) {
  if (sums.failed >= failuresMax) break;
  const plan = planRun(seed);
  const { wrong, ...counts } = await runPlan(plan, options);
  sums.seeds += 1;
  for (const [what, count] of Object.entries(counts)) sums[what] = (sums[what] ?? 0) + count;
  if (wrong.length === 0) continue;
  sums.failed += 1;
  console.log(`seed ${seed}:\n  ${wrong.slice(0, 3).join('\n  ').slice(0, 4_000)}`);
  if (values.keep === undefined) continue;
  const cut = await cutPlan(plan, async (smaller) => (await runPlan(smaller)).wrong.length > 0);
  writeFileSync(`${values.keep}/seed-${seed}.json`, `${JSON.stringify(cut, null, 1)}\n`);
}
const cpuSeconds = process.cpuUsage().user / 1e6;
console.log(
  JSON.stringify(sums),
  `${((Date.now() - startedAtMs) / 1000).toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of CPU`,
);
process.exitCode = sums.failed > 0 ? 1 : 0;
