import { topicNames, topicSpecs } from '@makerbook/contracts-events';
import { connectLog } from '@makerbook/kafka';
import { kafkaConnection, postgresConnection, readSettings } from '@makerbook/settings';
import { createLogger } from '@makerbook/telemetry';
import { rebuildSettings } from '../env.js';
import { rebuildReadModel, verifyReadModel } from './rebuild-read-model.js';

const commands = { verify: verifyReadModel, rebuild: rebuildReadModel };

/** `verify` compares the running read model and the book with a replay of the log; `rebuild` puts the replay in its place. */
async function run(words: readonly string[]): Promise<number> {
  const [word = ''] = words;
  if (words.length !== 1 || !(word in commands)) throw new Error('verify | rebuild');
  const settings = readSettings(rebuildSettings, process.env);
  const logger = createLogger('rebuild', settings.LOG_LEVEL === 'info' ? 'warn' : settings.LOG_LEVEL);
  const log = connectLog({ ...kafkaConnection(settings), clientId: 'makerbook-rebuild', logger });
  try {
    await log.verifyTopics(topicSpecs(topicNames(settings.TOPIC_PREFIX), settings.PARTITIONS));
    const differences = await commands[word as keyof typeof commands]({
      database: postgresConnection(settings),
      log,
      settings,
      report: (line) => console.log(line),
    });
    for (const difference of differences) console.log(difference);
    const isSame = differences.length === 0;
    if (isSame) console.log('the read model and the book are what a replay of the log leads to');
    if (word === 'rebuild') console.log('the read model is made anew');
    return isSame || word === 'rebuild' ? 0 : 1;
  } finally {
    await log.close();
  }
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
