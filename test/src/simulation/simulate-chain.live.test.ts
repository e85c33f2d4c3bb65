import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openSimulation, type Simulation } from './open-simulation.js';
import { readSeeds } from './read-seeds.js';
import { type SeedReport, simulateSeed } from './simulate-seed.js';

/** All seeds of seeds.txt, with more steps: `npm run simulate:chain`. */
const SEEDS = readSeeds().slice(0, 2);
const STEPS = 8;
const reports: SeedReport[] = [];
let simulation: Simulation;

beforeAll(async () => {
  simulation = await openSimulation();
});

afterAll(async () => {
  await simulation?.close();
});

test.each(SEEDS)(
  'seed %i: list, read model and feed say of every order what the chain says, and ACTIVE is never said in vain',
  async (seed) => {
    const report = await simulateSeed(simulation, { seed, steps: STEPS });
    reports.push(report);
    expect(report.comparisons).toBe(STEPS);
    expect(report.actions).toBeGreaterThan(50);
    expect(report.ordersCompared).toBeGreaterThan(10);
    expect(report.blocksCompared).toBeGreaterThan(0);
  },
  600_000,
);

test('among them were ends of processes, and orders that were cancelled or filled before they were posted', () => {
  const sum = (figure: (report: SeedReport) => number | undefined) =>
    reports.reduce((total, report) => total + (figure(report) ?? 0), 0);
  expect(sum(({ endings }) => endings)).toBeGreaterThan(2);
  expect(sum(({ activeHeld }) => activeHeld)).toBeGreaterThan(100);
  // Not after the last block of each step alone.
  expect(sum(({ blocksCompared }) => blocksCompared)).toBeGreaterThan(sum(({ comparisons }) => comparisons));
  for (const kind of ['postCancelled', 'postFilled', 'postPartlyFilled'])
    expect(sum(({ tally }) => tally[kind])).toBeGreaterThan(0);
});
