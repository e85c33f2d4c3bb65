import { endWithUsage, readOptions, readRange, readWhole } from '@makerbook/local-stack';
import { type SimulationOptions, simulateWatchers } from './simulate-watchers.js';

/** Runs the simulation of watchers. Exits with 1 when a seed found something wrong. */
const USAGE = `npm run simulate:watchers -- [--seed N | --seeds A..B] [--watchers N] [--kills yes|no] [--faults yes|no] [--failures N]
  --seed: with all that happens, line by line; --seeds: 1..1000 if not said; --failures: ends after so many, 10 if not said;
  the others: instead of what the seed draws`;
const { values } = readOptions(USAGE, {
  seed: { type: 'string' },
  seeds: { type: 'string', default: '1..1000' },
  watchers: { type: 'string' },
  kills: { type: 'string' },
  faults: { type: 'string' },
  failures: { type: 'string', default: '10' },
});
const given: Omit<SimulationOptions, 'seed'> = {
  ...(values.watchers === undefined ? {} : { watchers: readWhole(USAGE, '--watchers', values.watchers, 1) }),
  ...(values.kills === undefined ? {} : { hasKills: isYes('--kills', values.kills) }),
  ...(values.faults === undefined ? {} : { hasFaults: isYes('--faults', values.faults) }),
};
const seeds = readRange(USAGE, values.seed === undefined ? '--seeds' : '--seed', values.seed ?? values.seeds);
const failuresMax = readWhole(USAGE, '--failures', values.failures, 1);
const startedAtMs = Date.now();
const sums = {
  seeds: 0,
  failed: 0,
  blocks: 0,
  records: 0,
  kills: 0,
  watchers: 0,
  held: 0,
  mixed: 0,
  late: 0,
  takenBack: 0,
};
const ends: Record<string, number> = {};
for (const seed of seeds) {
  if (sums.failed >= failuresMax) break;
  const onLine = (line: string) => console.log(line);
  const report = await simulateWatchers({ seed, ...given, ...(values.seed === undefined ? {} : { onLine }) });
  sums.seeds += 1;
  if (report.wrong.length > 0) sums.failed += 1;
  for (const what of ['blocks', 'records', 'kills', 'watchers', 'held', 'mixed', 'late', 'takenBack'] as const)
    sums[what] += report[what];
  for (const [end, times] of Object.entries(report.ends)) ends[end] = (ends[end] ?? 0) + times;
  if (report.wrong.length > 0) console.log(`seed ${seed}:\n  ${report.wrong.slice(0, 5).join('\n  ')}`);
}
console.log(JSON.stringify(sums), JSON.stringify(ends), `${((Date.now() - startedAtMs) / 1000).toFixed(1)} s`);
process.exitCode = sums.failed > 0 ? 1 : 0;

function isYes(option: string, text: string): boolean {
  if (text === 'yes' || text === 'no') return text === 'yes';
  return endWithUsage(USAGE, `${option} ${text}: yes or no`);
}
