import { randomUUID } from 'node:crypto';
import { unixMs } from '@makerbook/contracts-primitives';
import { connectLog } from '@makerbook/kafka';
import { kafkaConnection, postgresConnection, readOptions, readSettings, refuseWords } from '@makerbook/settings';
import { createLogger } from '@makerbook/telemetry';
import { rebuildSettings } from '../env.js';
import { usedTopics } from '../used-topics.js';
import { rebuildReadModel, verifyReadModel } from './rebuild-read-model.js';
import { salvage } from './salvage.js';

const USAGE = `verify    compares the running read model and the book with a replay of the log
rebuild   replaces the read model by a replay of the log
salvage   appends to a restored log what only the rows have, and suspends all makers; run it while no service runs`;
const { name: word } = readOptions(USAGE, {}, ['verify', 'rebuild', 'salvage']);

async function run(): Promise<number> {
  if (word === undefined) return refuseWords('verify, rebuild or salvage');
  const settings = readSettings(rebuildSettings, process.env);
  const logger = createLogger('rebuild', settings.LOG_LEVEL === 'info' ? 'warn' : settings.LOG_LEVEL);
  const log = connectLog({ ...kafkaConnection(settings), clientId: 'makerbook-rebuild', logger });
  try {
    await log.verifyTopics(usedTopics(settings));
    const report = (line: string) => console.log(line);
    const options = { database: postgresConnection(settings), log, settings, report };
    if (word === 'salvage') {
      for (const line of await salvage(options, { commandId: randomUUID(), unixMs })) report(line);
      return 0;
    }
    const differences = await (word === 'verify' ? verifyReadModel : rebuildReadModel)(options);
    for (const difference of differences) console.log(difference);
    const isSame = differences.length === 0;
    if (isSame) console.log('the read model and the book match a replay of the log');
    if (word === 'rebuild') console.log('the read model is rebuilt');
    return isSame || word === 'rebuild' ? 0 : 1;
  } finally {
    await log.close();
  }
}

try {
  process.exitCode = await run();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
