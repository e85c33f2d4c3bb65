import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { findRoot } from '../conformance/find-root.js';
import { commandsIn } from './run-commands.js';

interface Vector {
  readonly ladder: readonly { price: { numerator: string; denominator: string }; [name: string]: unknown }[];
  readonly quote: {
    readonly fills: readonly object[];
    readonly spares: readonly object[];
    readonly amountIn: string;
    readonly amountOut: string;
    readonly passedOver: number;
  };
}

const root = findRoot();
const file = readFileSync(join(root, 'shared/book/vectors.json'), 'utf8');
const wanted = (JSON.parse(file) as Vector[]).map(
  ({ ladder, quote: { fills, spares, amountIn, amountOut, passedOver } }) => ({
    ladder: ladder.map(({ price, ...level }) => [
      `${price.numerator}/${price.denominator}`,
      ...[level['amountIn'], level['amountOut'], level['orders']].map(String),
    ]),
    fills: fills.map((fill) => Object.values(fill)),
    spares: spares.map((spare) => Object.values(spare)),
    amountIn,
    amountOut,
    passedOver,
  }),
);
const commands = commandsIn('examples/README.md', '').filter((command) => command.includes('vectors.json'));
const runs = (probe: string) => spawnSync('sh', ['-c', probe]).status === 0;
const runnable = commands.filter((command) =>
  runs(command.startsWith('java') ? 'java --list-modules | grep -q jdk.compiler' : 'python3 --version'),
);

test('the examples that quote are found, and one can run here', () => {
  expect(commands).toHaveLength(2);
  expect(runnable.length).toBeGreaterThan(0);
});

test.each(runnable)('%s gives the ladders and quotes of the package', (command) => {
  expect(JSON.parse(execFileSync('sh', ['-c', command], { cwd: root, encoding: 'utf8' }))).toEqual(wanted);
});
