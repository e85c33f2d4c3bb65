import { parseArgs } from 'node:util';
import { type SimulationOptions, simulateWatchers } from './simulate-watchers.js';

/**
 * `node run-simulation.js --seeds 1..1000`, or `--seed 7` with all that happened; `--watchers 1`, `--kills no`,
 * `--faults yes` instead of what the seed draws. Exits with 1 when a seed found something wrong.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '1..1000' },
    watchers: { type: 'string' },
    kills: { type: 'string' },
    faults: { type: 'string' },
    failures: { type: 'string', default: '10' },
  },
});
const given: Omit<SimulationOptions, 'seed'> = {
  ...(values.watchers === undefined ? {} : { watchers: Number(values.watchers) }),
  ...(values.kills === undefined ? {} : { hasKills: values.kills === 'yes' }),
  ...(values.faults === undefined ? {} : { hasFaults: values.faults === 'yes' }),
};
const [first = 1, last = first] = (values.seed ?? values.seeds).split('..').map(Number);
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
for (let seed = first; seed <= last && sums.failed < Number(values.failures); seed += 1) {
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
