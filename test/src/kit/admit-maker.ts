import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The operator's command. */
export const operatorProgram = join(root, 'services/operator/dist/main.js');

/** Puts makers on the whitelist with the operator's own command. @throws Error with what the command said */
export function admitMaker(maker: string | readonly string[], environment: Record<string, string>): Promise<string> {
  return runOperator(['makers', 'add', ...(typeof maker === 'string' ? [maker] : maker)], environment);
}

/**
 * Runs a command of the operator.
 * @param checkout the root of the built checkout whose command is run
 * @throws Error with its output if it fails
 */
export function runOperator(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  checkout = root,
): Promise<string> {
  const operator = join(checkout, 'services/operator/dist/main.js');
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...environment };
    execFile(process.execPath, [operator, ...words], { env }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout.trim());
      else
        reject(new Error(`the operator could not ${words.join(' ')}: ${(stderr || stdout || error.message).trim()}`));
    });
  });
}
