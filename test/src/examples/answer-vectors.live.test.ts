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
const [command = ''] = commandsIn('examples/README.md', '').filter((one) => one.includes('vectors.json'));
const hasJdk = spawnSync('sh', ['-c', 'java --list-modules | grep -q jdk.compiler']).status === 0;
if (!hasJdk) console.warn(`left out: ${command}: there is no JDK`);

(hasJdk ? test : test.skip)('Quote.java gives the ladders and quotes of the package', () => {
  expect(JSON.parse(execFileSync('sh', ['-c', command], { cwd: root, encoding: 'utf8' }))).toEqual(wanted);
});
