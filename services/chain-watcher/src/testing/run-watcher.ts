import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '@makerbook/parts';
import { opsAt } from './ask-ops.js';
import type { Stage } from './stage-chain.js';

/** A watcher in its own process, with its port for operators. */
export type WatcherProcess = Awaited<ReturnType<typeof runWatcherProcess>>;

const main = fileURLToPath(new URL('../main.js', import.meta.url));

export async function runWatcherProcess(stage: Stage, settings: Record<string, string> = {}) {
  const port = await findFreePort();
  const env = { PATH: process.env['PATH'], ...stage.environment(), OPS_PORT: String(port), ...settings };
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk) => {
      written[name] += chunk;
    });
  }
  const exited = once(child, 'close').then(([code]) => ({ code: code as number | null, ...written }));
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    child.kill(signal);
    await exited;
  };
  return {
    ops: opsAt(port),
    exited,
    /** Ends the process at once. */
    kill: () => end('SIGKILL'),
    terminate: () => end('SIGTERM'),
    /** Pauses the process. `goOn` continues it. */
    freeze: () => child.kill('SIGSTOP'),
    goOn: () => child.kill('SIGCONT'),
    /** How many lines with this text the process has logged so far. */
    countLines: (text: string) => written.stdout.split('\n').filter((line) => line.includes(text)).length,
  };
}
