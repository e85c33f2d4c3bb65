import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { parseCommand } from '@makerbook/operator';
import { readStackEnvironment } from './stack-env.js';
import { entryOf } from './start-services.js';
import { readProcessesFile, readStackFile } from './write-stack-files.js';

/**
 * Runs a command on the running stack, or on KAFKA_BROKERS (and DATABASE_URL) when given: `verify` and `rebuild` of the
 * projector, else one of the operator (`topics`, `makers …`, `parked …`, `log …`, `doctor`).
 */
const words = process.argv.slice(2);
const folder = resolve(readStackEnvironment(process.env).MAKERBOOK_DATA);
const stack = readStackFile(folder);
const brokers = process.env['KAFKA_BROKERS'] || stack?.kafkaBrokers;
const isOfProjector = words[0] === 'verify' || words[0] === 'rebuild';
// The command itself prints its usage, and refuses words that it does not know.
const isCommand = isOfProjector ? words.length === 1 : 'do' in parseCommand(words);
const needsKafka = words[0] !== 'contracts';
if (brokers === undefined && isCommand && needsKafka) {
  console.error(`no Makerbook runs on ${folder}: start it with \`npm start\`, or give KAFKA_BROKERS`);
  process.exit(1);
}
const entry = isOfProjector ? entryOf('services/projector', 'rebuild/main.js') : entryOf('services/operator');
const shared = { TOPIC_REPLICATION_FACTOR: '1', ...readProcessesFile(folder)?.settings };
const database = stack === undefined ? {} : { DATABASE_URL: stack.databaseUrl };
const examined = words[0] === 'doctor' ? describeStack() : {};
const command = spawn(process.execPath, [entry, ...words], {
  stdio: 'inherit',
  env: { ...shared, ...database, ...examined, ...process.env, KAFKA_BROKERS: brokers ?? '' },
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => command.kill(signal));
command.once('exit', (code) => process.exit(code ?? 1));

/** All that the doctor looks at beside Kafka and Postgres. */
function describeStack(): Record<string, string> {
  if (stack === undefined) return {};
  const processes = readProcessesFile(folder)?.processes ?? [];
  const places = processes.flatMap(({ name, opsPort }) =>
    opsPort === undefined ? [] : [`${name}=http://127.0.0.1:${opsPort}`],
  );
  return {
    SERVICE_NAME: stack.serviceName,
    CHAIN_ID: String(stack.chainId),
    LIMIT_ORDER_PROTOCOL_ADDRESS: stack.limitOrderProtocol,
    ...(stack.navigator !== '' && { NAVIGATOR_ADDRESS: stack.navigator }),
    ...(stack.orderFiller !== '' && { ORDER_FILLER_ADDRESS: stack.orderFiller }),
    RPC_URL: stack.rpcUrl,
    PROCESSES: places.join(','),
  };
}
