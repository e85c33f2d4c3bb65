import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { OpenStack } from './open-stack.js';

const command = fileURLToPath(import.meta.resolve('../../../services/projector/dist/rebuild/main.js'));

/** Runs `operator verify` or `salvage`, as a process. @throws Error with its output if it fails */
export function runReplay(word: 'verify' | 'salvage', environment: Readonly<Record<string, string>>) {
  return promisify(execFile)(process.execPath, [command, word], { env: { ...process.env, ...environment } });
}

/** The differences that `npm run verify` finds between rows and book and a replay of the log. Empty if none. */
export async function verifyRows({
  operatorEnvironment,
  addresses,
}: Pick<OpenStack, 'operatorEnvironment' | 'addresses'>): Promise<string[]> {
  try {
    await runReplay('verify', { ...operatorEnvironment, DATABASE_URL: addresses.databaseUrl });
    return [];
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return [`verify: ${stdout}${stderr}`.trim()];
  }
}
