import { runSeeds, SEED_USAGE, seedOptions } from '@makerbook/parts';
import { readOptions } from '@makerbook/settings';
import { planRun } from './plan-run.js';
import { runPlan } from './simulate-service.js';

/** Runs the simulation of the service. Exits with 1 when a seed found something wrong. */
const USAGE = `npm run simulate:service -- [--seed N | --seeds A..B] [--failures N] [--keep FOLDER]
  ${SEED_USAGE}`;
const { values } = readOptions(USAGE, seedOptions);
await runSeeds(USAGE, values, { planRun, runPlan });
