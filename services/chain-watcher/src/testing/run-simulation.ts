import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findFreePort, startKafka } from '@makerbook/local-stack';
import { simulateChain } from './simulate-chain.js';
import { Stage } from './stage-chain.js';

/** Runs the simulation on any seeds, on a Kafka of its own: `node run-simulation.js --seed 7 --seeds 3 --rounds 12`. */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '12' },
    makers: { type: 'string', default: '4' },
    actions: { type: 'string', default: '12' },
  },
});
const folder = mkdtempSync(join(tmpdir(), 'makerbook-simulation-'));
const kafka = await startKafka({ dataDir: folder, port: await findFreePort() });
process.env['MAKERBOOK_TEST_PARTS'] = JSON.stringify({ kafkaBrokers: kafka.brokers });
try {
  const first = Number(values.seed);
  for (let seed = first; seed < first + Number(values.seeds); seed += 1) {
    const stage = await Stage.open();
    try {
      const startedAtMs = Date.now();
      const tally = await simulateChain(stage, {
        seed,
        rounds: Number(values.rounds),
        makers: Number(values.makers),
        actionsMax: Number(values.actions),
      });
      console.log(`seed ${seed}: no difference, ${Date.now() - startedAtMs} ms, ${JSON.stringify(tally)}`);
    } catch (error) {
      process.exitCode = 1;
      console.error(error instanceof Error ? error.message : error);
    } finally {
      await stage.close();
    }
  }
} finally {
  await kafka.stop();
  rmSync(folder, { recursive: true, force: true });
}
