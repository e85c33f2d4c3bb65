import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs commands in one shell, which ends at the first failure. */
export type Run = (commands: string) => Promise<Ran>;

/** @param before shell functions that the commands may call */
export function openShell(cwd: string, variables: Readonly<Record<string, string>>, before = ''): Run {
  return async (commands) => {
    const shell = spawn('sh', ['-ec', `${before}\n${commands}`], {
      cwd,
      env: { ...process.env, ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = Promise.all([text(shell.stdout), text(shell.stderr)]);
    const [status] = (await once(shell, 'close')) as [number | null];
    const [stdout, stderr] = await said;
    return { status, stdout, stderr };
  };
}
