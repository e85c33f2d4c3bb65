import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const operator = fileURLToPath(import.meta.resolve('../../../services/operator/dist/main.js'));

/** Puts makers on the whitelist, or takes them off, with the operator's own command. @throws Error with what the command said */
export function admitMaker(
  maker: string | readonly string[],
  environment: Record<string, string>,
  verb: 'add' | 'remove' = 'add',
): Promise<string> {
  return new Promise((resolve, reject) => {
    const makers = typeof maker === 'string' ? [maker] : maker;
    const env = { ...process.env, ...environment };
    execFile(process.execPath, [operator, 'makers', verb, ...makers], { env }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout.trim());
      else
        reject(
          new Error(`the operator could not ${verb} ${makers.join()}: ${(stderr || stdout || error.message).trim()}`),
        );
    });
  });
}
