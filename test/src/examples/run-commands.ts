import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findRoot } from '../conformance/find-root.js';

const root = findRoot();
const run = promisify(execFile);

export type Environment = Readonly<Record<string, string | undefined>>;

/** The commands in a README's code blocks that begin with this text. @throws Error if there is none */
export function commandsIn(readme: string, begin: string): string[] {
  const blocks = readFileSync(join(root, readme), 'utf8')
    .split(/^```\n/m)
    .filter((_, index) => index % 2 === 1);
  // The README's curl command continues to the end of its block.
  const commands = blocks.flatMap((block) => (block.startsWith('curl') ? [block] : block.trimEnd().split('\n')));
  const found = commands.filter((command) => command.startsWith(begin));
  if (found.length === 0) throw new Error(`${readme} has no command that begins with ${begin}`);
  return found;
}

/** The command that a shell runs at once. Leaves npm out of an npm script: npm would install and build first. */
function withoutNpm(command: string): string {
  const [, script, words = ''] = /^npm run (\S+)(?: -- (.*))?$/.exec(command) ?? [];
  if (script === undefined) return command;
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  return `'${process.execPath}' ${scripts[script]?.replace(/^exec node deploy\/local\/bootstrap\.mjs /, '')} ${words}`;
}

/** What a command prints on standard output. @throws Error with both outputs if it fails */
export async function outputOf(command: string, env: Environment): Promise<string> {
  const { stdout } = await run('sh', ['-c', withoutNpm(command)], { cwd: root, env: { ...process.env, ...env } });
  return stdout;
}

export type RunningCommand = ReturnType<typeof startCommand>;

/** Starts a command that runs until it is stopped. */
export function startCommand(command: string, env: Environment) {
  const child: ChildProcess = spawn('sh', ['-c', `exec ${withoutNpm(command)}`], {
    cwd: root,
    env: { ...process.env, ...env },
  });
  const exited = once(child, 'exit');
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (data) => {
      output += data;
    });
  return {
    /** The lines printed so far. @throws Error if the command has ended by itself */
    lines(): string[] {
      if (child.exitCode !== null) throw new Error(`${command} has ended: ${output}`);
      return output.split('\n');
    },
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    async stop(): Promise<void> {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
