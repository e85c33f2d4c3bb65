import { runSeeds, SEED_USAGE, seedOptions } from '@makerbook/parts';
import { endWithUsage, readOptions, readWhole } from '@makerbook/settings';
import { planRun } from './plan-run.js';
import { runPlan } from './simulate-watchers.js';

/** Runs the simulation of watchers. Exits with 1 when a seed found something wrong. */
const USAGE = `npm run simulate:watchers -- [--seed N | --seeds A..B] [--watchers N] [--kills yes|no] [--faults yes|no] [--failures N] [--keep FOLDER]
  ${SEED_USAGE}; the others: instead of what the seed draws`;
const { values } = readOptions(USAGE, {
  ...seedOptions,
  watchers: { type: 'string' },
  kills: { type: 'string' },
  faults: { type: 'string' },
});
const given = {
  watchers: values.watchers === undefined ? undefined : readWhole(USAGE, '--watchers', values.watchers, 1),
  hasKills: values.kills === undefined ? undefined : isYes('--kills', values.kills),
  hasFaults: values.faults === undefined ? undefined : isYes('--faults', values.faults),
};
await runSeeds(USAGE, values, {
  planRun: (seed) => planRun(seed, given),
  runPlan: async (plan, options) => {
    const { ends, ...report } = await runPlan(plan, options);
    return { ...report, ...ends };
  },
});

function isYes(option: string, text: string): boolean {
  if (text === 'yes' || text === 'no') return text === 'yes';
  return endWithUsage(USAGE, `${option} ${text}: yes or no`);
}
