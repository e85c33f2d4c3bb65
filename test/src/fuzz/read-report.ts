import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * The report that a fuzzer prints. It is a process of its own: in the module loader of Jest the same takes half as much CPU
 * again.
 * @param file of this folder
 */
export async function readReport<T>(file: string, args: readonly string[], environment: object = {}): Promise<T> {
  const command = new URL(file, import.meta.url).pathname;
  const env = { ...process.env, ...environment };
  const running = promisify(execFile)(process.execPath, [command, ...args], { env, maxBuffer: 1e8 });
  // Exit code 1 says that there are failures; the report holds them.
  const { stdout } = await running.catch((error: Error & { stdout?: string }) => {
    if (!error.stdout) throw error;
    return { stdout: error.stdout };
  });
  return JSON.parse(stdout) as T;
}
