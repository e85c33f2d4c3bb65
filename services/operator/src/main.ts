import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { unixMs } from '@makerbook/contracts-primitives';
import { runService } from '@makerbook/http';
import { connectLog } from '@makerbook/kafka';
import { kafkaConnection, postgresConnection, readSettings } from '@makerbook/settings';
import { createLogger } from '@makerbook/telemetry';
import { runContracts } from './contracts-command.js';
import { runDoctor } from './doctor-command.js';
import { doctorSettings, followSettings, migrateSettings, settings as operatorSettings } from './env.js';
import { followLog } from './follow-log.js';
import { migrateDatabase } from './migrate-database.js';
import type { Outcome } from './outcome.js';
import type { Command } from './parse-command.js';
import { readCommand, runCommand } from './run.js';

const command = readCommand(process.argv.slice(2));
if ('do' in command && command.do === 'log' && command.isFollowing) {
  await runService(
    'log-archive',
    () => readSettings(followSettings, process.env),
    (settings, telemetry) => followLog(command.folder, settings, telemetry),
  );
} else {
  try {
    const { lines, exitCode } = await answer(command);
    console.log(lines.join('\n'));
    process.exitCode = exitCode;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}

async function answer(command: Command | Outcome): Promise<Outcome> {
  if ('lines' in command) return command;
  if (command.do === 'migrate') {
    return migrateDatabase(postgresConnection(readSettings(migrateSettings, process.env)));
  }
  if (command.do === 'contracts') return runContracts(command, process.env, (line) => console.log(line));
  if (command.do === 'doctor') return runDoctor(command, readSettings(doctorSettings, process.env), unixMs);
  const settings = readSettings(operatorSettings, process.env);
  const logger = createLogger('operator', settings.LOG_LEVEL === 'info' ? 'warn' : settings.LOG_LEVEL);
  const log = connectLog({ ...kafkaConnection(settings), clientId: 'makerbook-operator', logger });
  const context = { commandId: randomUUID(), nowMs: unixMs(), user: userOfMachine() };
  try {
    return await runCommand(log, command, settings, context);
  } finally {
    // A connection that stays open would keep the process.
    await log.close();
  }
}

/** In a container the user may have no name. */
function userOfMachine(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}
