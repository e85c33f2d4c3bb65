import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openSimulation, type Simulation } from './open-simulation.js';
import { readSeeds } from './read-seeds.js';
import { simulateSeed } from './simulate-seed.js';

/** All seeds of seeds.txt, with more steps: `npm run simulate:chain`. The third of them has two watchers. */
const SEEDS = readSeeds().slice(0, 3);
const STEPS = 8;
let simulation: Simulation;

beforeAll(async () => {
  simulation = await openSimulation();
}, 120_000);

afterAll(async () => {
  await simulation?.close();
}, 60_000);

test.each(SEEDS)(
  'seed %i: list, read model and feed say of every order what the chain says, block for block',
  async (seed) => {
    const report = await simulateSeed(simulation, { seed, steps: STEPS });
    expect(report.comparisons).toBe(STEPS);
    expect(report.actions).toBeGreaterThan(50);
    expect(report.ordersCompared).toBeGreaterThan(10);
  },
  180_000,
);
