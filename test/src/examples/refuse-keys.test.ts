import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { findRoot } from '../conformance/find-root.js';
import { hasPython, pythonEnvironment } from './find-python.js';

const KEY = `0x${'1f'.repeat(32)}`;
const address = `0x${'12'.repeat(20)}`;
const stack = {
  baseUrl: 'http://127.0.0.1:1',
  rpcUrl: 'http://127.0.0.1:1',
  chainId: 8217,
  serviceName: 'Test',
  limitOrderProtocol: address,
  tokens: [{ address }, { address }],
};
const folder = mkdtempSync(join(tmpdir(), 'makerbook-keys-'));
writeFileSync(join(folder, 'stack.json'), JSON.stringify(stack));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const compiled = (name: string) => [process.execPath, `examples/typescript/dist/${name}.js`] as const;
const python = (file: string) => (hasPython ? [['python3', file] as const] : []);
const programs = [
  ...['maker', 'maker-viem', 'quoter'].map(compiled),
  ...['examples/python/maker.py', 'examples/python/quoter.py', 'services/query/assets/order.py'].flatMap(python),
  [process.execPath, 'services/query/assets/order.mjs'] as const,
  ['sh', 'services/query/assets/order.sh'] as const,
  [process.execPath, 'shared/client/dist/main.js', 'list'] as const,
];
/** The last key is not below the order of the curve. */
const bad = [KEY.slice(0, -1), `${KEY}\n`, `0x${'f'.repeat(64)}`];

/** Runs a program with this environment. Returns what it prints on both outputs. */
function run([command, ...words]: readonly [string, ...string[]], environment: Record<string, string>) {
  const env = {
    ...process.env,
    MAKERBOOK_DATA: folder,
    ...pythonEnvironment,
    ...environment,
  };
  const { status, stdout, stderr } = spawnSync(command, words, { cwd: findRoot(), env, encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

test.each(programs)('%s %s does not show a key that is wrong', (...command) => {
  for (const key of bad) {
    const { status, output } = run(command as readonly [string, ...string[]], { MAKER_KEY: key });
    expect(output).toContain('MAKER_KEY is no private key: 0x and 64 hex digits');
    expect(output).not.toMatch(/1f1f1f|ffffff|[0-9]{60}/);
    expect(status).not.toBe(0);
  }
});

test.each(['poller', 'streamer'])('%s does not show the wrong keys of its reader and its taker', (name) => {
  for (const [variable, key] of [
    ['READER_KEY', 'secret-1f1f1f\n'],
    ['TAKER_KEY', KEY.slice(0, -1)],
  ] as const) {
    const { status, output } = run(compiled(name), { [variable]: key });
    expect(output).not.toContain('1f1f1f');
    expect(status).not.toBe(0);
  }
});
