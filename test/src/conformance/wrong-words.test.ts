import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { findRoot } from './find-root.js';

const root = findRoot();
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
/** The entry of each command that this repository has itself, and its words. */
const commands = Object.entries(scripts).flatMap(([name, script]) => {
  const [, entry] = /bootstrap\.mjs(?: --needs=\S+)? (.*)$/.exec(script) ?? [];
  return entry === undefined ? [] : [[name, entry.split(' ')] as const];
});
const filesOf = new Map(commands);
/** One for each program: some have several commands. */
const programs = [...new Map(commands.map((command) => [command[1][0], command])).values()];

function run(words: readonly string[], environment: Record<string, string> = {}) {
  const env = { ...process.env, MAKERBOOK_DATA: '/nowhere', ...environment };
  return new Promise<{ readonly code: unknown; readonly output: string }>((resolve) => {
    execFile(process.execPath, words, { cwd: root, env }, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, output: stdout + stderr });
    });
  });
}

test.each(programs)('%s refuses an unknown option in one line', async (_name, words) => {
  const { code, output } = await run([...words, '--nope']);
  expect(output).toMatch(/^unknown option `--nope`[^\n]*\n$/);
  expect(code).not.toBe(0);
});

test.each([
  ['fuzz', '--requests'],
  ['bench', '--minutes'],
  ['abuse', '--seconds'],
  ['chaos', '--minutes'],
  ['simulate', '--failures'],
])('%s refuses %s x before it starts anything', async (name, option) => {
  const { code, output } = await run([...(filesOf.get(name) ?? []), option, 'x']);
  expect({ code, output }).toEqual({
    code: 2,
    output: expect.stringMatching(new RegExp(`^${option} x: a whole number is needed[^\n]*\n$`)),
  });
});

(existsSync('/proc/self') ? test.each(['start', 'packages', 'chart']) : test.skip.each(['start']))(
  '%s refuses a folder that cannot be made, and does not try for ever',
  async (name) => {
    const { code, output } = await run(filesOf.get(name) ?? [], { MAKERBOOK_DATA: '/proc/x' });
    expect(output).toMatch(/^the (data )?folder \/proc\/x\S* cannot be (made|used)[^\n]*ENOENT[^\n]*\n$/);
    expect(code).not.toBe(0);
  },
);
