import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '@makerbook/parts';
import { type Ops, opsAt } from './ask-ops.js';
import type { Stage } from './stage-chain.js';

/** A watcher as a process of its own. */
export interface WatcherProcess {
  readonly exited: Promise<{ readonly code: number | null; readonly stderr: string; readonly stdout: string }>;
  /** SIGKILL: it does nothing any more. */
  kill(): Promise<void>;
  /** SIGTERM. */
  terminate(): Promise<void>;
  /** SIGSTOP: it goes on where it was with `goOn`. */
  freeze(): void;
  goOn(): void;
  /** How many lines that hold this text it has written to its log so far. */
  countLines(text: string): number;
}

const main = fileURLToPath(new URL('../main.js', import.meta.url));

export function runWatcherProcess(stage: Stage, settings: Record<string, string> = {}): WatcherProcess {
  const env = { PATH: process.env['PATH'], ...stage.environment(), ...settings };
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const written = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    written.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    written.stderr += chunk;
  });
  const exited = once(child, 'close').then(([code]) => ({ code: code as number | null, ...written }));
  return {
    exited,
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
    terminate: async () => {
      child.kill('SIGTERM');
      await exited;
    },
    freeze: () => child.kill('SIGSTOP'),
    goOn: () => child.kill('SIGCONT'),
    countLines: (text) => written.stdout.split('\n').filter((line) => line.includes(text)).length,
  };
}

/** The same with a port that is known, for tests that ask it how it is. */
export async function runObservedWatcher(
  stage: Stage,
  settings: Record<string, string> = {},
): Promise<WatcherProcess & { readonly ops: Ops }> {
  const port = await findFreePort();
  return { ...runWatcherProcess(stage, { OPS_PORT: String(port), ...settings }), ops: opsAt(port) };
}
