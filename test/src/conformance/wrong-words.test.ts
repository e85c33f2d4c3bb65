import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { findRoot } from './find-root.js';

const root = findRoot();
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
/** The scripts of this repository, keyed by name, each with the command that `bootstrap.mjs` hands over to. */
const commands = new Map(
  Object.entries(scripts).flatMap(([name, script]) => {
    const [, entry, words = ''] = /bootstrap\.mjs (?:--needs=\S+ )?(\S+)(.*)$/.exec(script) ?? [];
    return entry === undefined ? [] : [[name, [join(root, entry), ...words.split(' ').filter(Boolean)]] as const];
  }),
);
/** One script of each program. The other scripts only add words to it. */
const programs = [...commands.keys()].filter((name) => !/^(log|parked|topics|rebuild|example:(?!maker$))/.test(name));
const folder = mkdtempSync(join(tmpdir(), 'makerbook-scripts-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface End {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a script where no stack runs. */
function run(script: string, words: readonly string[], environment: Record<string, string> = {}): Promise<End> {
  const { PATH } = process.env;
  const command = [...(commands.get(script) ?? []), ...words];
  const options = { cwd: folder, env: { PATH, ...environment } };
  return new Promise((resolve) => {
    execFile(process.execPath, command, options, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, stdout, stderr });
    });
  });
}

test('the scripts are found', () => expect(programs.length).toBeGreaterThan(15));

test.concurrent.each(programs)('%s refuses an unknown option in one line', async (name) => {
  const { code, stdout, stderr } = await run(name, ['--nope']);
  expect(stdout + stderr).toMatch(/^unknown option `--nope`[^\n]*\n$/);
  expect([1, 2]).toContain(code);
});

/** The parser that names unknown options reads `--help` too, so two scripts stand for all. */
test.concurrent.each(['start', 'simulate'])('%s: --help prints the usage, and does nothing else', async (name) => {
  const { code, stdout, stderr } = await run(name, ['--help']);
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
  '%s %s without a stack ends with one line that says how to start one',
  async (name, ...words) => {
    const { code, stdout, stderr } = await run(name, words);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.trim()).toMatch(/^[^\n]*npm start[^\n]*$/);
  },
);

test.concurrent.each([
  ['fuzz', '--requests'],
  ['bench', '--minutes'],
  ['abuse', '--seconds'],
  ['chaos', '--minutes'],
  ['simulate', '--failures'],
])('%s refuses %s x before it starts anything', async (name, option) => {
  const { code, stdout, stderr } = await run(name, [option, 'x']);
  expect({ code, output: stdout + stderr }).toEqual({
    code: 2,
    output: expect.stringMatching(new RegExp(`^${option} x: a whole number is needed[^\n]*\n$`)),
  });
});

(existsSync('/proc/self') ? test.concurrent.each(['start', 'packages', 'chart']) : test.skip.each(['start']))(
  '%s refuses a folder that cannot be made, and does not try for ever',
  async (name) => {
    const { code, stdout, stderr } = await run(name, [], { MAKERBOOK_DATA: '/proc/x' });
    expect(stdout + stderr).toMatch(/^the (data )?folder \/proc\/x\S* cannot be (made|used)[^\n]*ENOENT[^\n]*\n$/);
    expect([1, 2]).toContain(code);
  },
);

test('no script has left a file behind', () => expect(readdirSync(folder)).toEqual([]));
