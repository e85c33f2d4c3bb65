import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePorts, startKafka, startPostgres, startRedis } from '@makerbook/parts';
import { readOptions, readRange, readWhole } from '@makerbook/settings';
import { idleSeeds, missingKinds } from './count-kinds.js';
import { openSimulation, type Simulation } from './open-simulation.js';
import { readSeeds } from './read-seeds.js';
import { type SeedReport, simulateSeed } from './simulate-seed.js';

/**
 * Runs the simulation of chain and makers. It brings its own Kafka, Postgres and Redis. Exits with 1 when a seed found a
 * difference; and with all seeds of seeds.txt when there was a kind of action that none of them did, or when what the router
 * knew was compared after too few blocks.
 */
const USAGE = `npm run simulate:chain -- [--seed N | --seeds A..B] [--steps N]
  without a seed: every one of seeds.txt; --steps: comparisons for each seed, 25 if not said`;
const { values } = readOptions(USAGE, {
  seed: { type: 'string' },
  seeds: { type: 'string' },
  steps: { type: 'string', default: '25' },
});
const isEverySeed = values.seed === undefined && values.seeds === undefined;
const seeds = readSeedsWanted();
const reports: SeedReport[] = [];
const steps = readWhole(USAGE, '--steps', values.steps, 1);
const folder = mkdtempSync(join(tmpdir(), 'makerbook-simulation-'));
const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
let isStopping = false;
let simulation: Simulation | undefined;
let stopped: Promise<void> | undefined;
const stop = () => {
  isStopping = true;
  stopped ??= (async () => {
    await simulation?.close();
    for (const close of closing.reverse()) await close();
  })();
  return stopped;
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => void stop().finally(() => process.exit(1)));
// The process that started it was killed.
process.once('disconnect', () => void stop().finally(() => process.exit(1)));

const [kafkaPort = 0, postgresPort = 0, redisPort = 0] = await findFreePorts(3);
try {
  const say = (line: string) => console.error(line);
  const kafka = await startKafka({ dataDir: join(folder, 'kafka'), port: kafkaPort, onProgress: say });
  closing.push(() => kafka.stop());
  const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), port: postgresPort });
  closing.push(() => postgres.stop());
  const redis = await startRedis({ dataDir: join(folder, 'redis'), port: redisPort, onProgress: say });
  closing.push(() => redis.stop());
  const parts = { kafkaBrokers: kafka.brokers, postgresUrl: postgres.url, redisUrl: redis.url };
  process.env['MAKERBOOK_TEST_PARTS'] = JSON.stringify(parts);
  for (const seed of seeds) {
    if (isStopping) break;
    const startedAtMs = Date.now();
    try {
      simulation ??= await openSimulation();
      const report = await simulateSeed(simulation, { seed, steps });
      reports.push(report);
      const { tally, states, ...figures } = report;
      const seconds = ((Date.now() - startedAtMs) / 1000).toFixed(1);
      console.log(
        `no difference, ${seconds} s: ${[figures, states, tally].map((each) => JSON.stringify(each)).join(' ')}`,
      );
    } catch (error) {
      if (isStopping) break;
      process.exitCode = 1;
      console.error(
        `FAILED: ${error instanceof Error ? error.message : error}\n\nAgain: --seed ${seed} --steps ${steps}`,
      );
      // What it left behind must not fail the next one.
      await simulation?.close();
      simulation = undefined;
    }
  }
  if (!isStopping) sumUp();
} finally {
  await stop();
}
process.exit();

function sumUp(): void {
  const figures = ['actions', 'blocks', 'blocksCompared', 'ordersCompared', 'activeHeld', 'endings'] as const;
  const sums = figures.map((figure) => `${reports.reduce((sum, report) => sum + report[figure], 0)} ${figure}`);
  console.log(`${reports.length} of ${seeds.length} seeds without a difference: ${sums.join(', ')}`);
  if (!isEverySeed) return;
  const missing = missingKinds(reports);
  const failures = [
    ...(missing.length === 0 ? [] : [`no seed did this, or found it: ${missing.join(', ')}`]),
    ...idleSeeds(reports),
  ];
  for (const failure of failures) {
    process.exitCode = 1;
    console.error(`FAILED: ${failure}`);
  }
}

function readSeedsWanted(): number[] {
  if (values.seed !== undefined) return [readWhole(USAGE, '--seed', values.seed)];
  return values.seeds === undefined ? readSeeds() : readRange(USAGE, '--seeds', values.seeds);
}
