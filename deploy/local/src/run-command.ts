import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { parseCommand } from '@makerbook/operator';
import { commandEnvironment } from './command-environment.js';
import { readStackEnvironment } from './stack-env.js';
import { entryOf } from './start-services.js';
import { readProcessesFile, readStackFile } from './write-stack-files.js';

/**
 * Runs a command on the running stack, or on KAFKA_BROKERS (and DATABASE_URL) if given: `verify` or `rebuild` of the
 * projector, or else one of the operator (`topics`, `makers …`, `parked …`, `log …`, `doctor`).
 */
const words = process.argv.slice(2);
const folder = resolve(readStackEnvironment(process.env).MAKERBOOK_DATA);
const env = commandEnvironment(words[0], process.env, readStackFile(folder), readProcessesFile(folder));
const isOfProjector = words[0] === 'verify' || words[0] === 'rebuild';
// The command itself prints its usage, and refuses unknown words.
const isCommand = isOfProjector ? words.length === 1 : 'do' in parseCommand(words);
const needsKafka = words[0] !== 'contracts';
if (!env['KAFKA_BROKERS'] && isCommand && needsKafka) {
  console.error(`no Makerbook runs on ${folder}: start it with \`npm start\`, or give KAFKA_BROKERS`);
  process.exit(1);
}
const entry = isOfProjector ? entryOf('services/projector', 'rebuild/main.js') : entryOf('services/operator');
const command = spawn(process.execPath, [entry, ...words], { stdio: 'inherit', env });
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => command.kill(signal));
command.once('exit', (code) => process.exit(code ?? 1));
