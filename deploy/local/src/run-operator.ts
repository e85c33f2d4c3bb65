import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { readStackEnvironment } from './stack-env.js';
import { entryOf } from './start-services.js';
import { readProcessesFile, readStackFile } from './write-stack-files.js';

/** Runs a command of the operator (`topics`, `makers …`) on the running stack, or on KAFKA_BROKERS when given. */
const folder = resolve(readStackEnvironment(process.env).MAKERBOOK_DATA);
const brokers = process.env['KAFKA_BROKERS'] || readStackFile(folder)?.kafkaBrokers;
if (brokers === undefined) {
  console.error(`no Makerbook runs on ${folder}: start it with \`npm start\`, or give KAFKA_BROKERS`);
  process.exit(1);
}
const shared = { TOPIC_REPLICATION_FACTOR: '1', ...readProcessesFile(folder)?.settings };
const operator = spawn(process.execPath, [entryOf('services/operator'), ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...shared, ...process.env, KAFKA_BROKERS: brokers },
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => operator.kill(signal));
operator.once('exit', (code) => process.exit(code ?? 1));
