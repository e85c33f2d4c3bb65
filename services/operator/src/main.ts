import { randomUUID } from 'node:crypto';
import { connectLog } from '@makerbook/kafka';
import { kafkaConnection } from '@makerbook/settings';
import { createLogger } from '@makerbook/telemetry';
import { readEnvironment } from './env.js';
import { runCommand } from './run.js';

try {
  const settings = readEnvironment(process.env);
  const logger = createLogger('operator', settings.LOG_LEVEL === 'info' ? 'warn' : settings.LOG_LEVEL);
  const log = connectLog({ ...kafkaConnection(settings), clientId: 'makerbook-operator', logger });
  const { lines, exitCode } = await runCommand(log, process.argv.slice(2), settings, {
    commandId: randomUUID(),
    nowMs: Date.now(),
  });
  console.log(lines.join('\n'));
  await log.close();
  process.exitCode = exitCode;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
