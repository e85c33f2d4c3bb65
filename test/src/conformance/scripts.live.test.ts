import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { findRoot } from './find-root.js';

const root = findRoot();
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
/** The scripts of this repository by their names, each with what `bootstrap.mjs` hands over to. */
const commands = new Map(
  Object.entries(scripts).flatMap(([name, command]) => {
    const [, entry, words = ''] = /bootstrap\.mjs (?:--needs=\S+ )?(\S+)(.*)$/.exec(command) ?? [];
    return entry === undefined ? [] : [[name, [join(root, entry), ...words.split(' ').filter(Boolean)]] as const];
  }),
);
const folder = mkdtempSync(join(tmpdir(), 'makerbook-scripts-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface End {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a script where no stack runs. */
function run(script: string, ...words: string[]): Promise<End> {
  const { PATH } = process.env;
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [...(commands.get(script) ?? []), ...words],
      { cwd: folder, env: { PATH } },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
}

/** One of each program: the others are words of it. */
const names = [...commands.keys()].filter((name) => !/^(log|parked|topics|rebuild|example:(?!maker$))/.test(name));

test('the scripts are found', () => expect(names.length).toBeGreaterThan(15));

test.concurrent.each(names)('%s: an unknown option is named, and refused', async (name) => {
  const { code, stdout, stderr } = await run(name, '--no-such-option');
  expect(code === 1 || code === 2).toBe(true);
  expect(stdout + stderr).toContain('unknown option `--no-such-option`');
  expect(stderr).not.toMatch(/\n\s+at /);
});

/** What names unknown options reads this one too. */
test.concurrent.each(['start', 'simulate'])('%s: --help prints the usage, and does nothing else', async (name) => {
  const { code, stdout, stderr } = await run(name, '--help');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(name);
});

test.concurrent.each([
  ['demo'],
  ['book'],
  ['topics'],
  ['makers', 'list'],
  ['parked', 'list'],
  ['verify'],
  ['rebuild'],
  ['example:maker'],
  ['example:maker-viem'],
  ['example:router'],
] as [string, ...string[]][])(
  '%s %s without a stack ends with one line that says how to start it',
  async (script, ...words) => {
    const { code, stdout, stderr } = await run(script, ...words);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.trim()).toMatch(/^[^\n]*npm start[^\n]*$/);
  },
);

test('none of them has left anything', () => expect(readdirSync(folder)).toEqual([]));
