import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { OpenStack } from './open-stack.js';

const run = promisify(execFile);
const command = fileURLToPath(import.meta.resolve('../../../services/projector/dist/rebuild/main.js'));

/** What `npm run verify` finds otherwise in rows and book than in a replay of the log; none where they agree. */
export async function verifyRows({
  operatorEnvironment,
  addresses,
}: Pick<OpenStack, 'operatorEnvironment' | 'addresses'>): Promise<string[]> {
  const env = { ...process.env, ...operatorEnvironment, DATABASE_URL: addresses.databaseUrl };
  try {
    await run(process.execPath, [command, 'verify'], { env });
    return [];
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return [`verify: ${stdout}${stderr}`.trim()];
  }
}
